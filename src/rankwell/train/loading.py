"""Loading a model of transformers from a folder, without its chatter, and with errors that say what is wrong."""

from __future__ import annotations

from typing import Any

from rankwell.core import RankwellError
from rankwell.encode.folder import ModelFolder
from rankwell.encode.torch_model import FROM_FOLDER


def load_model(folder: ModelFolder, kind: Any, **options: Any) -> tuple[Any, list[str]]:
    """The model as a class of transformers has it, and the names of weights that the folder did not have.

    Those were made anew, from torch's random numbers. `options` go to `from_pretrained`.
    """
    import transformers

    verbosity: Any = transformers.logging
    level = verbosity.get_verbosity()
    verbosity.set_verbosity_error()
    verbosity.disable_progress_bar()
    try:
        model, said = kind.from_pretrained(
            folder.path, weights_only=True, output_loading_info=True, **FROM_FOLDER, **options
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise RankwellError(f"{folder.path}: expected a model for torch, found {str(error).splitlines()[0]}") from error
    finally:
        verbosity.set_verbosity(level)
    return model, sorted({*said["missing_keys"], *(name for name, *_ in said["mismatched_keys"])})
