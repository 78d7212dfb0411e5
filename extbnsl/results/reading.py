"""Reading result.json back."""

import json
from pathlib import Path
from typing import Any

from extbnsl.errors import InputError, RunDirectoryError
from extbnsl.files.names import RESULT


def read_result(path: Path) -> dict[str, Any]:
    """The document in result.json, given that file or its run directory.

    Raises InputError if it is not there or cannot be read, RunDirectoryError if it is no JSON object.
    """
    file = path / RESULT if path.is_dir() else path
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; give a result.json or a run directory that holds one.") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise RunDirectoryError(f"{file} is not JSON ({error}); it is damaged or no result of a solve.") from error
    if not isinstance(document, dict):
        raise RunDirectoryError(f"{file} holds no JSON object; it is damaged or no result of a solve.")
    return document
