"""Data sets on the Hugging Face hub: files are downloaded once into the hub's cache, and used offline.

`HF_ENDPOINT`, `HF_HOME`, `HF_TOKEN` and `HF_HUB_OFFLINE` are settings of huggingface_hub; see its documentation.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bowstring.errors import DataError, FetchError
from bowstring.files.redaction import error_line
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json

_log = logging.getLogger("bowstring")
_from_cache: set[tuple[str, str]] = set()  # sets and commits that a warning was printed of: once per process


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository's files on disk, at one commit. `listing` names all its files, downloaded or not, if known."""

    folder: Path
    commit: str
    listing: tuple[str, ...] | None


def fetch(
    repo_id: str,
    revision: str | None,
    choose: Callable[[Iterable[str]], list[str]],
    *,
    into: Path | None = None,
) -> Snapshot:
    """Download the files that `choose` selects from the repository's listing; without a network, use the cache."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (  # type: ignore[attr-defined]  # HTTPError of its HTTP library
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        HTTPError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    _quiet()
    try:
        info = HfApi().dataset_info(repo_id, revision=revision)
        listing = tuple(s.rfilename for s in info.siblings or ())
    except GatedRepoError as error:
        raise FetchError(
            f"{repo_id} requires you to accept its terms: do so on its hub page, then set HF_TOKEN"
        ) from error
    except HFValidationError as error:
        raise DataError(f"{repo_id} is neither an existing file or folder nor a valid hub id") from error
    except RevisionNotFoundError as error:
        raise DataError(f"{repo_id} on the hub has no revision {revision!r}") from error
    except RepositoryNotFoundError as error:
        raise DataError(
            f"{repo_id} is neither an existing file or folder nor a data set on the hub "
            "(a private one needs HF_TOKEN in the environment)"
        ) from error
    except (OfflineModeIsEnabled, HfHubHTTPError, HTTPError, OSError) as error:
        return _without_hub(repo_id, revision, into, error_line(error), error)
    except (
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
    ) as error:  # the answer is not from a hub: a captive portal or proxy
        return _without_hub(repo_id, revision, into, "the server's answer is not a hub's", error)
    files = choose(listing)
    try:
        folder = snapshot_download(
            repo_id, repo_type="dataset", revision=info.sha or revision, allow_patterns=files, local_dir=into
        )
    except (HfHubHTTPError, HTTPError, OSError, ValueError) as error:
        raise FetchError(f"{repo_id} could not be fetched from the hub: {error_line(error)}") from error
    if into is None:
        _remember(repo_id, revision, info.sha or "", listing)
    return Snapshot(Path(folder), info.sha or "", listing)


def _quiet() -> None:
    """Silence the hub library's log output."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)


def _without_hub(repo_id: str, revision: str | None, into: Path | None, reason: str, cause: Exception) -> Snapshot:
    """Return what earlier downloads left in the cache."""
    if into is not None:
        raise FetchError(f"{repo_id} could not be downloaded: the hub cannot be reached: {reason}") from cause
    cache = _cache(repo_id)
    ref = cache / "refs" / (revision or "main")
    commit = ref.read_text().strip() if ref.is_file() else revision or ""
    folder = cache / "snapshots" / commit
    if not commit or not folder.is_dir():
        at = f" at revision {revision}" if revision else ""
        raise FetchError(f"{repo_id}{at} is not in the cache and the hub cannot be reached: {reason}") from cause
    if (repo_id, commit) not in _from_cache:
        _from_cache.add((repo_id, commit))
        _log.warning("The hub was not reached (%s); using %s at commit %s from the cache", reason, repo_id, commit[:12])
    noted = _listing_file(cache, commit)
    return Snapshot(folder, commit, _noted(noted))


def _noted(path: Path) -> tuple[str, ...] | None:
    """Return a recorded listing; None if missing or damaged."""
    try:
        found = parse_strict_json(path.read_bytes())
    except (OSError, ParseError):
        return None
    sound = isinstance(found, list) and all(isinstance(name, str) for name in found)
    return tuple(found) if sound else None


def _remember(repo_id: str, revision: str | None, commit: str, listing: Iterable[str]) -> None:
    """Record the repository's listing and the commit of a revision, so that missing parts are known offline."""
    cache = _cache(repo_id)
    noted = _listing_file(cache, commit)
    noted.parent.mkdir(parents=True, exist_ok=True)
    noted.write_text(json.dumps(list(listing)), encoding="utf-8")
    name = revision or "main"
    if name != commit:
        ref = cache / "refs" / name
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(commit)


def _cache(repo_id: str) -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE) / f"datasets--{repo_id.replace('/', '--')}"


def _listing_file(cache: Path, commit: str) -> Path:
    return cache / ".bowstring" / f"{commit}.json"
