"""XML as text."""

import re
import xml.etree.ElementTree as ET

_HELD = re.compile("[\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")


def fits_xml(text: str) -> bool:
    """Whether a text comes back from XML 1.0: it has no place for most control characters (section 2.2), and readers
    take a carriage return for a line end (section 2.11)."""
    return _HELD.fullmatch(text) is not None


def xml_text(root: ET.Element) -> str:
    """The document as text in UTF-8, a line for each element, ending in a newline."""
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
