"""Models from the Hugging Face hub, in its own cache."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path

from coevo.llm.growth import watched
from coevo.llm.model_directory import is_complete
from coevo.llm.model_error import ModelError
from coevo.llm.progress import Observer, Progress
from coevo.llm.registry import HubSource

_PROBE_S = 4.0
_WANTED = ["*.safetensors", "*.json", "*.jinja", "*.txt", "tokenizer.model"]  # nothing pickled
_UNWANTED = ["*/*"]  # other formats of the same weights


def cached(source: HubSource) -> Path | None:
    """The snapshot of a repository in the hub's cache, if all of it is there. No network."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        path = Path(
            snapshot_download(source.repository, revision=source.revision, local_files_only=True)
        )
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return path if is_complete(path) else None


def reachable() -> bool:
    """Whether the hub answers, known within four seconds."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    answered = threading.Event()

    def probe() -> None:
        request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
        try:
            urllib.request.urlopen(request, timeout=_PROBE_S).close()
        except urllib.error.HTTPError:
            pass  # it answered
        except (OSError, ValueError):
            return
        answered.set()

    # In a thread, because looking up a name knows no time limit.
    prober = threading.Thread(target=probe, daemon=True)
    prober.start()
    prober.join(_PROBE_S)
    return answered.is_set()


def fetch(source: HubSource, observer: Observer) -> Path:
    """Download a repository's weights, configuration and tokenizer. Raises `ModelError`."""
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.file_download import repo_folder_name
    from huggingface_hub.utils import disable_progress_bars, filter_repo_objects

    repository, revision = source.repository, source.revision
    try:
        info = HfApi().model_info(repository, revision=revision, files_metadata=True, timeout=20)
        wanted = filter_repo_objects(
            info.siblings or [],
            allow_patterns=_WANTED,
            ignore_patterns=_UNWANTED,
            key=lambda file: file.rfilename,
        )
        total = sum(file.size or 0 for file in wanted)
        blobs = Path(constants.HF_HUB_CACHE) / repo_folder_name(
            repo_id=repository, repo_type="model"
        )
        disable_progress_bars()  # ours is shown
        with watched(blobs, Progress(f"download {repository}", 0, total), total, observer):
            path = Path(
                snapshot_download(
                    repository,
                    revision=revision,
                    allow_patterns=_WANTED,
                    ignore_patterns=_UNWANTED,
                )
            )
    except GatedRepoError as error:
        raise ModelError(
            f"{repository} is gated: accept its licence at {constants.ENDPOINT}/{repository}, "
            "then run `hf auth login`"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"the hub has no model {repository}, or it is private: check the name, "
            "or run `hf auth login`"
        ) from error
    except Exception as error:  # the client's own, the system's, and its HTTP library's
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise ModelError(f"the hub did not give {repository}: {reason}; try again") from error
    if not is_complete(path):
        raise ModelError(f"{source} holds no safetensors weights: choose another model")
    return path
