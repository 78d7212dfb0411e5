"""One component, from its incumbent to the proof."""
