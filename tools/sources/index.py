"""Finding and downloading a source release with unearth, by the user's own index settings."""

from __future__ import annotations

import bisect
import hashlib
import logging
import socket
import ssl
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import cast

import httpx2
from packaging.version import InvalidVersion, Version
from unearth import Link, Package, PackageFinder
from unearth.auth import MultiDomainBasicAuth
from unearth.collector import is_secure_origin
from unearth.fetchers import Fetcher, PyPIClient

from tools.sources.archive import create
from tools.sources.folder import Progress
from tools.sources.index_settings import IndexSettings, index_settings
from tools.sources.redact import redacted
from tools.sources.snapshot import SourceError

LARGEST = 1 << 30
"""Bytes of an archive beyond which nothing is downloaded."""

_CHUNK = 1 << 18
_ATTEMPTS = 3


def _without_credentials(record: logging.LogRecord) -> bool:
    record.msg, record.args = redacted(record.getMessage()), ()
    return True


# The libraries log index URLs as they are, and print warnings that the errors here already tell.
for _name in ("unearth.auth", "unearth.collector", "httpx2"):
    logging.getLogger(_name).addFilter(_without_credentials)
logging.getLogger("unearth").addHandler(logging.NullHandler())
_STRONG = ("sha256", "sha384", "sha512")
_HASHES = (*_STRONG, "sha224", "sha1", "md5")


def find_release(name: str, version: str, label: str, python: Path | None) -> tuple[Link, PyPIClient]:
    """The source archive of a release, and the session to fetch it with (which the caller closes).

    Raises SourceError when no place that was asked has it: with the nearest versions there are, or saying
    that there are only wheels, or why an index could not be asked.
    """
    settings = index_settings(python)
    session = _session(settings, label)
    try:
        wanted = Version(version)
        packages, troubles = _search(name, wanted, settings, session)
        for package in packages:
            if _version(package) == wanted and not package.link.is_wheel:
                return package.link, session
        raise _not_found(name, wanted, label, packages, troubles, settings)
    except BaseException:
        session.close()
        raise


def download(
    session: PyPIClient, link: Link, place: Path, label: str, progress: Progress | None
) -> tuple[str, bool]:
    """Write the archive to ``place``; its sha256, and whether the index vouched for it with a strong hash.

    Raises SourceError when the transfer fails, is too large, or the hashes differ; OSError from writing.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _transfer(session, link, place, label, progress)
        except httpx2.HTTPError as error:
            place.unlink(missing_ok=True)
            if attempt == _ATTEMPTS or not isinstance(error, httpx2.TransportError):
                raise _failed(label, f"the download broke off: {_network_reason(error)}") from error
    raise AssertionError("the last attempt returns or raises")


def _transfer(
    session: PyPIClient, link: Link, place: Path, label: str, progress: Progress | None
) -> tuple[str, bool]:
    expected = {name: values for name, values in (link.hash_option or {}).items() if name in _HASHES}
    digests = {name: hashlib.new(name) for name in {*expected, "sha256"}}
    action = f"downloading {link.filename}"
    done = 0
    # Identity: a server that compresses the archive once more would change what the hash is of.
    with session.get_stream(link.normalized, headers={"Accept-Encoding": "identity"}) as response:
        if response.status_code >= 400:
            raise _failed(label, f"the index answers {response.status_code} for {link.filename}")
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        with create(place) as out:
            for chunk in response.iter_bytes(_CHUNK):
                done += len(chunk)
                if done > LARGEST:
                    raise _failed(label, f"{link.filename} is larger than {LARGEST >> 20} MiB")
                for digest in digests.values():
                    digest.update(chunk)
                out.write(chunk)
                if progress:
                    progress(action, done, total)
    if total is not None and done < total:
        raise _failed(label, f"the download broke off after {done} of {total} bytes")
    for name, values in expected.items():
        if digests[name].hexdigest() not in values:
            raise SourceError(
                label,
                f"{link.filename} is not the file that the index describes ({name} differs)",
                "Try again; if it stays so, do not trust that index.",
            )
    return digests["sha256"].hexdigest(), any(name in _STRONG for name in expected)


def _session(settings: IndexSettings, label: str) -> PyPIClient:
    try:
        verify: ssl.SSLContext | bool = True
        if settings.certificates:
            verify = ssl.create_default_context(cafile=settings.certificates)
        session = PyPIClient(
            trusted_hosts=settings.trusted_hosts,
            verify=verify,
            cert=settings.client_certificate,
            proxy=settings.proxy,
            timeout=settings.timeout,
            follow_redirects=True,
        )
    except (OSError, ValueError) as error:
        raise SourceError(
            label,
            f"the package index settings cannot be used ({redacted(str(error))})",
            "Check cert, client-cert and proxy in `pip config list` and the PIP_ variables.",
        ) from error
    urls = [url for url in (settings.index, *settings.extra) if url]
    session.auth = MultiDomainBasicAuth(prompting=False, index_urls=urls)
    return session


def _search(
    name: str, wanted: Version, settings: IndexSettings, session: PyPIClient
) -> tuple[list[Package], list[str]]:
    """Every file of ``name`` in the places asked, and what went wrong with which place.

    Asking ends at the first place that has the source archive wanted.
    """
    packages: list[Package] = []
    troubles: list[str] = []
    refusals: list[int] = []
    fetcher = cast(Fetcher, session)  # its methods take more than the library's own protocol says
    session.event_hooks = {"response": [lambda response: refusals.append(response.status_code)]}
    for finder, url in _finders(settings, fetcher):
        refusals.clear()
        try:
            if "://" in url and not is_secure_origin(fetcher, Link(url)):
                troubles.append(f"{redacted(url)} is not https and not a trusted host")
                continue
            found = list(finder.find_all_packages(name, allow_yanked=True))
        except httpx2.HTTPError as error:
            troubles.append(f"{redacted(url)}: {_network_reason(error)}")
            continue
        except (ValueError, OSError) as error:
            troubles.append(f"{redacted(url)}: {redacted(str(error))}")
            continue
        troubles += [
            f"{redacted(url)} answers {status}" for status in refusals if status >= 400 and status != 404
        ]
        packages += found
        if any(_version(package) == wanted and not package.link.is_wheel for package in found):
            break
    return packages, troubles


def _finders(settings: IndexSettings, session: Fetcher) -> Iterator[tuple[PackageFinder, str]]:
    """One finder for each place, so that one which fails does not hide the others."""
    for page in settings.find_links:
        yield PackageFinder(session, find_links=[page], ignore_compatibility=True), page
    if settings.no_index:
        return
    if settings.index is None:
        # Without a source of its own the library asks the ordinary default index.
        finder = PackageFinder(session, ignore_compatibility=True)
        yield finder, finder.sources[0]["url"]
    for url in (settings.index, *settings.extra):
        if url:
            yield PackageFinder(session, index_urls=[url], ignore_compatibility=True), url


def _version(package: Package) -> Version | None:
    try:
        return Version(package.version or "")
    except InvalidVersion:
        return None


def _not_found(
    name: str,
    wanted: Version,
    label: str,
    packages: Sequence[Package],
    troubles: Sequence[str],
    settings: IndexSettings,
) -> SourceError:
    sources = {v for package in packages if not package.link.is_wheel and (v := _version(package))}
    wheels = {v for package in packages if package.link.is_wheel and (v := _version(package))}
    if troubles and not packages:
        return SourceError(
            label,
            f"the package index could not be asked: {'; '.join(dict.fromkeys(troubles))}",
            "Check the network and the index settings (`pip config list`), or give a local path.",
        )
    note = f" ({'; '.join(dict.fromkeys(troubles))})" if troubles else ""
    if wanted in wheels:
        return SourceError(
            label,
            f"there are only wheels of it, no source archive{note}",
            f"Nearest with source: {_nearest(wanted, sources)}. Or install it and give installed:{name}.",
        )
    if not packages:
        where = "in the folders given (the index is switched off)" if settings.no_index else "on the index"
        return SourceError(label, f"there is no package {name!r} {where}{note}", "Check the name.")
    return SourceError(
        label,
        f"there is no release {wanted} of {name}{note}",
        f"Nearest: {_nearest(wanted, sources | wheels)}.",
    )


def _nearest(wanted: Version, versions: Collection[Version], count: int = 6) -> str:
    """The versions around ``wanted`` in their order; final releases before others when there are enough."""
    final = [v for v in versions if not v.is_prerelease]
    ordered = sorted(final if final and not wanted.is_prerelease else versions)
    at = bisect.bisect(ordered, wanted)
    start = max(0, min(at - count // 2, len(ordered) - count))
    return ", ".join(str(v) for v in ordered[start : start + count]) or "none"


def _network_reason(error: BaseException) -> str:
    """What went wrong on the network, in words; the text of the error itself may hold a URL."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return "the name of the host cannot be resolved (offline?)"
        if isinstance(cause, ConnectionRefusedError):
            return "the connection is refused (offline, or no server there)"
        if isinstance(cause, ssl.SSLError):
            return f"the secure connection fails ({cause.reason or cause})"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    return redacted(str(error)) or type(error).__name__


def _failed(label: str, why: str) -> SourceError:
    return SourceError(label, why, "Check the network and the index settings, and try again.")
