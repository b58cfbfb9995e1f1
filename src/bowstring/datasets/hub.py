"""Data sets on the Hugging Face hub: files are fetched once, kept in the hub's own cache, and used offline.

`HF_ENDPOINT`, `HF_HOME`, `HF_TOKEN` and `HF_HUB_OFFLINE` are huggingface_hub's and work as its documentation
says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bowstring.errors import DataError, FetchError


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository's files on this disk, at one commit."""

    folder: Path
    commit: str


def fetch(
    repo_id: str,
    revision: str | None,
    choose: Callable[[Iterable[str]], list[str]],
    *,
    into: Path | None = None,
) -> Snapshot:
    """Fetch the files that `choose` picks from the repository's listing; without a network, use the cache."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError: its HTTP library's own
        GatedRepoError,
        HfHubHTTPError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    try:
        info = HfApi().dataset_info(repo_id, revision=revision)
    except GatedRepoError as error:
        raise FetchError(
            f"{repo_id} asks you to accept its terms: do so on its hub page, then set HF_TOKEN"
        ) from error
    except RevisionNotFoundError as error:
        raise DataError(f"{repo_id} on the hub has no revision {revision!r}") from error
    except RepositoryNotFoundError as error:
        raise DataError(
            f"{repo_id} is neither a file or folder here nor a data set on the hub "
            "(a private one needs HF_TOKEN in the environment)"
        ) from error
    except (OfflineModeIsEnabled, HfHubHTTPError, HTTPError, OSError) as error:
        if into is not None:
            raise FetchError(f"the hub cannot be reached: {_first_line(error)}") from error
        return _cached(repo_id, revision, error)
    files = choose(s.rfilename for s in info.siblings or ())
    try:
        folder = snapshot_download(
            repo_id, repo_type="dataset", revision=revision, allow_patterns=files, local_dir=into
        )
    except (HfHubHTTPError, HTTPError, OSError) as error:
        raise FetchError(f"{repo_id} could not be fetched from the hub: {_first_line(error)}") from error
    return Snapshot(Path(folder), info.sha or "")


def _cached(repo_id: str, revision: str | None, cause: Exception) -> Snapshot:
    """What an earlier fetch left; a part that it lacks is named when it is asked for."""
    from huggingface_hub.constants import HF_HUB_CACHE

    cache = Path(HF_HUB_CACHE) / f"datasets--{repo_id.replace('/', '--')}"
    ref = cache / "refs" / (revision or "main")
    commit = ref.read_text().strip() if ref.is_file() else revision or ""
    folder = cache / "snapshots" / commit
    if not commit or not folder.is_dir():
        at = f" at revision {revision}" if revision else ""
        raise FetchError(
            f"{repo_id}{at} is not in the cache and the hub cannot be reached: {_first_line(cause)}"
        ) from cause
    return Snapshot(folder, commit)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
