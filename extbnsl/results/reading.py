"""Reading result.json back."""

import json
from pathlib import Path
from typing import Any

from extbnsl.errors import InputError, RunDirectoryError
from extbnsl.files.names import RESULT
from extbnsl.files.regular import read_regular

MOST_BYTES = 1 << 31  # in a run directory


def read_result(path: Path) -> dict[str, Any]:
    """The document in result.json, given that file or its run directory.

    Raises InputError if it is not there or cannot be read, RunDirectoryError if it is no JSON object.
    """
    inside = path.is_dir()
    file = path / RESULT if inside else path
    try:
        document = json.loads(read_regular(file, MOST_BYTES) if inside else file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; give a result.json or a run directory that holds one.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{file} is not JSON ({error}); it is damaged or no result of a solve.") from error
    if not isinstance(document, dict):
        raise RunDirectoryError(f"{file} holds no JSON object; it is damaged or no result of a solve.")
    return document
