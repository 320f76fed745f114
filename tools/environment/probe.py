"""What one interpreter has and would import. Runs in that interpreter: one file, standard library, Python 3.9+.

Usage: ``python probe.py [SPECIFICATION]``; prints one JSON object. The specification is a JSON object:

- ``distributions``: names to describe, whatever they provide,
- ``imports``: top-level names; every distribution that provides one is described too, and each name is resolved,
- ``names``: true to list the names of all distributions,
- ``user_site``: true to count the user's packages in although ``-I`` leaves them out,
- ``mark``: text put before and after the JSON, so that what start-up code prints cannot be taken for it.

Nothing is imported but the standard library, and nothing is written. Names are resolved with importlib's own finders,
entry by entry; finders that others installed are never called (some rebuild their project when asked): the mappings
they hold are read. Lines of ``.pth`` files are read as text; start-up has run them already, as for any program.
Of the environment only the variables of ``VARIABLES`` are reported. Exit status 0 means collected, not valid.
"""

from __future__ import annotations

import sys

START_PATH = [
    entry for entry in sys.path if isinstance(entry, str)
]  # as imports do: others count for nothing
START_FINDERS, START_HOOKS = list(sys.meta_path), list(sys.path_hooks)
START_MODULES = frozenset(sys.modules)
_STANDARD = ("zipimport", "importlib", "_frozen_importlib", "_frozen_importlib_external")


def standard(thing: object) -> bool:
    """Whether a finder or path hook is importlib's own."""
    module = getattr(thing, "__module__", None)
    if not isinstance(module, str):
        module = type(thing).__module__
    return module.split(".")[0] in _STANDARD


def use_standard_library_alone() -> None:
    """From here on no import reaches the current folder, PYTHONPATH, site-packages or anyone's import hook."""
    # The one package of the standard library that every start has imported, site or not.
    library = sys.modules["encodings"].__path__[0][: -len("encodings") - 1]
    sys.path[:] = [library] + [
        entry
        for entry in START_PATH
        if entry.startswith((sys.base_prefix, sys.base_exec_prefix)) and entry.endswith("lib-dynload")
    ]
    sys.meta_path[:] = [finder for finder in START_FINDERS if standard(finder)]
    sys.path_hooks[:] = [hook for hook in START_HOOKS if standard(hook)]
    sys.path_importer_cache.clear()
    sys.dont_write_bytecode = True


if __name__ == "__main__":
    use_standard_library_alone()

import ast
import json
import os
import platform
import re
import site
import sysconfig
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from typing import Any, Iterator  # noqa: UP035
from urllib.parse import unquote, urlparse

VERSION = 1
PATHS = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPLATLIBDIR")
VARIABLES = (
    *PATHS,
    "PYTHONSAFEPATH",
    "PYTHONNOUSERSITE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "VLLM_PLUGINS",
    "VLLM_TARGET_DEVICE",
)
LONGEST = 1000
"""Characters of one text; pip's longest legitimate URL and a long path fit."""
MOST = 2000
"""Rows of one list."""
SECRET = 6
"""A password shorter than this is taken out of URLs only: as bare text it may be part of any word."""

_LOGIN = re.compile(r"(?<=//)[^/?#\s'\"]*@")
_QUERY = re.compile(r"(\w[\w+.-]{0,30}://[^\s'\"?#]*)[?#][^\s'\")]*")
_URL_LOGIN = re.compile(r"://([^/?#\s'\"@:]*)(?::([^/?#\s'\"]*))?@")
_FINDER = re.compile(r"\b(__editable___\w+|_editable_impl_\w+|__editables?_\w+)")
_KNOWN_HOOKS = ("_distutils_hack", "_virtualenv", "six", "setuptools", "pkg_resources", "_pytest")


def without_credentials(text: str) -> str:
    """``text`` with logins in URLs replaced by ``***``, and their queries and fragments cut off."""
    return _QUERY.sub(r"\1", _LOGIN.sub("***@", text))


class Scrubber:
    """Takes out what must not be shown, wherever it turns up: a URL that a path variable split at its colons, too."""

    def __init__(self, environment: dict[str, str], cwd: str) -> None:
        self.pieces: set[str] = set()
        """Entries of a path that are parts of a URL with a login."""
        secrets: set[str] = set()
        for name, value in environment.items():
            for user, password in _URL_LOGIN.findall(value):
                secrets.update(
                    part for part in (password or user, unquote(password or user)) if len(part) >= SECRET
                )
            if name in PATHS and _URL_LOGIN.search(value):
                for piece in value.split(os.pathsep):
                    if "@" in piece or piece.startswith("//"):
                        place = os.path.join(cwd, piece)
                        self.pieces |= {piece, place, os.path.normpath(place), real(place)}
        self.secrets = sorted(secrets, key=len, reverse=True)

    def text(self, text: str) -> str:
        if text in self.pieces:
            return "(part of a URL)"
        whole = len(text) <= 8 * LONGEST
        text = without_credentials(text[: 8 * LONGEST].encode("utf-8", "backslashreplace").decode("utf-8"))
        if not whole and "://" in text and "/" not in text.rpartition("://")[2]:
            text = text.rpartition("://")[0]  # cut inside what may be a login
        for piece in self.pieces:
            if "@" in piece:
                text = text.replace(piece, "(part of a URL)")
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text if whole and len(text) <= LONGEST else text[:LONGEST] + "…"

    def all(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.all(item) for key, item in list(value.items())[:MOST]}
        if isinstance(value, (list, tuple)):
            return [self.all(item) for item in value[:MOST]]
        return value


class Problems(list):  # type: ignore[type-arg]
    """What could not be looked at, in words."""

    def note(self, what: str, error: BaseException) -> None:
        self.append(f"{what}: {type(error).__name__}: {error}")


def normal(name: object) -> str:
    return re.sub(r"[-_.]+", "-", name if isinstance(name, str) else "").lower()


def real(place: str) -> str:
    return os.path.realpath(place) if place else place


def read(place: str) -> str:
    """A small text file; '' when it is not one."""
    try:
        if not os.path.isfile(place) or os.path.getsize(place) > 4 << 20:
            return ""
        with open(place, encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read()
    except OSError:
        return ""


# Where the interpreter looks


def interpreter(cwd: str) -> dict[str, Any]:
    flags = sys.flags
    return {
        "executable": sys.executable or "",
        "real": real(sys.executable or ""),
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "platform": sysconfig.get_platform(),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "pyvenv_cfg": pyvenv_cfg(),
        "cwd": cwd,
        "flags": {
            "isolated": bool(flags.isolated),
            "ignore_environment": bool(flags.ignore_environment),
            "no_user_site": bool(flags.no_user_site),
            "no_site": bool(flags.no_site),
            "safe_path": bool(getattr(flags, "safe_path", False)),
        },
        "user_site": {"path": site.getusersitepackages(), "enabled": bool(site.ENABLE_USER_SITE)},
    }


def pyvenv_cfg() -> dict[str, str] | None:
    """The lines of ``pyvenv.cfg`` that say where the environment comes from."""
    place = os.path.join(sys.prefix, "pyvenv.cfg")
    if not os.path.isfile(place):
        return None
    rows = (line.partition("=") for line in read(place).splitlines())
    values = {key.strip().lower(): value.strip() for key, _, value in rows}
    kept = ("home", "include-system-site-packages", "version", "version_info", "uv", "virtualenv")
    return {"path": place, **{key: values[key] for key in kept if key in values}}


def variables() -> list[dict[str, Any]]:
    """The few variables that decide what is imported; a path also entry by entry."""
    rows = []
    for name in VARIABLES:
        value = os.environ.get(name)
        if value is None:
            continue
        row: dict[str, Any] = {"name": name, "value": value, "entries": []}
        if name == "PYTHONPATH":
            for entry in value.split(os.pathsep):
                row["entries"].append({"entry": entry, "relative": not os.path.isabs(entry)})
        rows.append(row)
    return rows


def site_folders() -> list[str]:
    found = list(site.getsitepackages()) if hasattr(site, "getsitepackages") else []
    user = site.getusersitepackages()
    return list(dict.fromkeys([*found, user] if site.ENABLE_USER_SITE else found))


def path_rows(path: list[str], cwd: str, pth: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each entry of sys.path and what put it there, as far as that can be told."""
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    library = {real(place) for place in library if place}
    sites = {real(place) for place in site.getsitepackages()} if hasattr(site, "getsitepackages") else set()
    user = real(site.getusersitepackages())
    given = os.environ.get("PYTHONPATH", "") if not sys.flags.ignore_environment else ""
    by_variable = {real(os.path.join(cwd, entry)) for entry in given.split(os.pathsep)} if given else set()
    by_pth = {
        real(line["place"]): row["file"] for row in pth for line in row["lines"] if line["kind"] == "path"
    }
    rows = []
    for number, entry in enumerate(path):
        place = os.path.join(cwd, entry) if entry else cwd
        where = real(place)
        if number == 0 and is_current(entry, cwd):
            source = "current folder"
        elif where in by_variable:
            source = "PYTHONPATH"
        elif where in library or where.endswith("lib-dynload") or re.search(r"[/\\]python\d+\.zip$", entry):
            source = "standard library"
        elif where in sites:
            source = "site-packages"
        elif where == user:
            source = "user site"
        elif where in by_pth:
            source = f".pth file {by_pth[where]}"
        else:
            source = "added at start"
        kind = "folder" if os.path.isdir(place) else "file" if os.path.isfile(place) else "missing"
        rows.append({"entry": entry, "place": place, "source": source, "kind": kind})
    return rows


def is_current(entry: str, cwd: str) -> bool:
    """Whether the first entry is the one that ``python -c`` and ``-m`` put there for the current folder."""
    return not getattr(sys.flags, "safe_path", False) and not sys.flags.isolated and entry in ("", cwd)


def pth_files() -> list[dict[str, Any]]:
    """Every ``.pth`` file that start-up processed, line by line."""
    rows: list[dict[str, Any]] = []
    if sys.flags.no_site:
        return rows
    for folder in site_folders():
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".pth") and name[0] != ".")
        except OSError:
            continue
        for name in names:
            place = os.path.join(folder, name)
            rows.append(
                {
                    "file": place,
                    "lines": [row for row in map(pth_line(folder), read(place).splitlines()) if row],
                }
            )
    return rows


def pth_line(folder: str) -> Any:
    def described(line: str) -> dict[str, Any] | None:
        line = line.rstrip()
        if not line.strip() or line.startswith("#"):
            return None
        if line.startswith(("import ", "import\t")):
            hook = _FINDER.search(line)
            name = hook.group(1) if hook else ""
            active = name in START_MODULES
            return {"kind": "code", "text": line[:LONGEST], "hook": name, "active": active, "place": ""}
        place = os.path.normpath(os.path.join(folder, line))
        return {
            "kind": "path",
            "text": line[:LONGEST],
            "hook": "",
            "active": os.path.exists(place),
            "place": place,
        }

    return described


# What a top-level name would import


def on_path(name: str, path: list[str]) -> Iterator[dict[str, Any]]:
    """What the entries of ``path`` hold for ``name``, the one that is imported first.

    A folder without ``__init__.py`` counts only when no entry has a real module: all such folders together.
    """
    portions: list[str] = []
    entries: list[str] = []
    found: list[dict[str, Any]] = []
    for entry in path:
        spec = PathFinder.find_spec(name, [entry])
        if spec is None:
            continue
        locations = [str(place) for place in spec.submodule_search_locations or ()]
        if spec.loader is None or spec.origin is None:
            portions += [place for place in locations if place not in portions]
            entries.append(entry)
            continue
        origin = os.path.abspath(spec.origin)
        kind = (
            "package"
            if locations
            else "extension"
            if origin.endswith(tuple(EXTENSION_SUFFIXES))
            else "module"
        )
        place = os.path.abspath(locations[0]) if locations else origin
        row: dict[str, Any] = {"kind": kind, "origin": origin, "place": place, "entry": entry, "via": "path"}
        found.append({**row, "zipped": type(spec.loader).__module__ == "zipimport"})
    yield from found
    if portions and not found:
        places = [os.path.abspath(place) for place in portions]
        row = {"kind": "namespace", "origin": "", "place": places[0], "entry": entries[0], "via": "path"}
        yield {**row, "zipped": False, "portions": places}


def by_hook(finder: object, name: str) -> dict[str, Any] | None:
    """What an import hook would answer for ``name``, by the mapping it holds; kind ``unknown`` when it has none."""
    module_name = getattr(finder, "__module__", None) or type(finder).__module__
    label = f"{module_name}:{getattr(finder, '__qualname__', type(finder).__qualname__)}"
    row = {"origin": "", "place": "", "entry": "", "via": f"hook {label}", "zipped": False}
    if str(module_name).split(".")[0] in _KNOWN_HOOKS:
        return None
    known = False
    for space in (vars(sys.modules.get(str(module_name), sys)), getattr(finder, "__dict__", {})):
        for key in ("MAPPING", "_redirections", "known_source_files"):
            mapping = space.get(key)
            if isinstance(mapping, dict):
                known = True
                if isinstance(mapping.get(name), (str, os.PathLike)):
                    return {**row, **mapped(os.fspath(mapping[name]))}
        namespaces = space.get("NAMESPACES")
        if isinstance(namespaces, dict) and name in namespaces:
            portions = [os.path.abspath(str(place)) for place in namespaces[name]]
            return {
                **row,
                "kind": "namespace",
                "place": portions[0] if portions else "",
                "portions": portions,
            }
        tops = space.get("_top_level_modules")
        if isinstance(tops, (set, frozenset, list, tuple, dict)):
            known = True
            if name in tops:
                return {**row, "kind": "built when imported"}
    return None if known else {**row, "kind": "unknown"}


def mapped(place: str) -> dict[str, Any]:
    """What a mapping to ``place`` (a package folder, or a module with or without its suffix) leads to."""
    place = os.path.abspath(place)
    init = os.path.join(place, "__init__.py")
    if os.path.isfile(init):
        return {"kind": "package", "origin": init, "place": place}
    if os.path.basename(place) == "__init__.py" and os.path.isfile(place):
        return {"kind": "package", "origin": place, "place": os.path.dirname(place)}
    for file in (place, *(place + suffix for suffix in (".py", *EXTENSION_SUFFIXES))):
        if os.path.isfile(file):
            kind = "extension" if file.endswith(tuple(EXTENSION_SUFFIXES)) else "module"
            return {"kind": kind, "origin": file, "place": file}
    kind = "namespace" if os.path.isdir(place) else "dangling"
    return {
        "kind": kind,
        "origin": "",
        "place": place,
        **({"portions": [place]} if kind == "namespace" else {}),
    }


def candidates(name: str, path: list[str], problems: Problems) -> list[dict[str, Any]]:
    """Everything that answers to ``name``, in the order it is asked: the first is what an import takes."""
    found: list[dict[str, Any]] = []
    for finder in START_FINDERS:
        try:
            if finder is PathFinder:
                rows = list(on_path(name, path))
            elif standard(finder):
                spec = finder.find_spec(name, None)
                rows = [] if spec is None else [builtin(finder)]
            else:
                row = by_hook(finder, name)
                rows = [] if row is None else [row]
        except Exception as error:  # noqa: BLE001 - one broken entry must not hide the others
            problems.note(f"resolving {name}", error)
            continue
        found += rows
    seen: set[str] = set()
    kept = []
    for row in found:
        row["real"] = real(row["place"])
        key = real(row["origin"]) or row["real"] or row["via"]
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept


def builtin(finder: object) -> dict[str, Any]:
    return {"kind": "builtin", "origin": "", "place": "", "entry": "", "via": str(finder), "zipped": False}


# What is installed


def finder_mapping(text: str) -> dict[str, str]:
    """The literal mapping of an editable install's finder module: ``MAPPING = {…}`` or ``map_module(…)`` calls."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        try:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(target, ast.Name) and target.id == "MAPPING" for target in targets):
                    literal = ast.literal_eval(node.value)
                    found.update({str(key): str(value) for key, value in dict(literal).items()})
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "map_module":
                name, place = (ast.literal_eval(part) for part in node.args)
                found[str(name)] = str(place)
        except (ValueError, TypeError):
            continue
    return found


class Installed:
    """One distribution, by its metadata alone."""

    def __init__(self, dist: metadata.Distribution, entry: str) -> None:
        self.dist, self.entry = dist, entry
        inner = getattr(dist, "_path", None)
        self.place = str(inner).rstrip("/") if inner is not None else ""
        header = dist.metadata
        self.name = str((header["Name"] if header is not None else None) or "")
        self.version = str((header["Version"] if header is not None else None) or "")
        if not self.name:  # metadata without a name: what the folder is called
            self.name = re.sub(r"(-[^-]*)?\.(dist|egg)-info$", "", os.path.basename(self.place))
        self.record = dist.read_text("RECORD")

    def may_provide(self, imports: list[str]) -> bool:
        """A quick look at the list of files; only what passes is described."""
        if self.record is None:
            return True
        names = "|".join(map(re.escape, imports))
        return ".pth" in self.record or bool(
            imports and re.search(rf"(?m)^\"?(?:{names})(?:/|\.py|\.[\w-]+\.so)", self.record)
        )

    def direct_url(self) -> dict[str, Any] | None:
        text = self.dist.read_text("direct_url.json")
        if text is None:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            return {"url": "(not readable)"}
        if not isinstance(found, dict):
            return {"url": "(not readable)"}
        vcs, folder = found.get("vcs_info"), found.get("dir_info")
        kept: dict[str, Any] = {"url": str(found.get("url", ""))}
        if isinstance(vcs, dict):
            kept.update(
                {key: str(vcs[key]) for key in ("vcs", "commit_id", "requested_revision") if key in vcs}
            )
        kept["editable"] = bool(isinstance(folder, dict) and folder.get("editable"))
        return kept

    def layout(self) -> tuple[dict[str, str], list[str], dict[str, str]]:
        """By the list of files: packages and modules, folders that its .pth files add, mapping of its finder."""
        packages: dict[str, str] = {}
        folders: list[str] = []
        mapping: dict[str, str] = {}
        for file in self.dist.files or []:
            parts = file.parts
            if not parts or parts[0] in ("..", "__pycache__") or file.is_absolute():
                continue
            place = str(self.dist.locate_file(file))
            top, last = parts[0], parts[-1]
            if len(parts) > 1:
                if not top.endswith((".dist-info", ".egg-info", ".data")) and last.endswith(
                    (".py", ".pyi", ".so")
                ):
                    packages.setdefault(top, str(self.dist.locate_file(top)).rstrip("/"))
            elif last.endswith(".pth"):
                lines = map(pth_line(os.path.dirname(place)), read(place).splitlines())
                folders += [line["place"] for line in lines if line and line["kind"] == "path"]
            elif last.endswith(".py") and _FINDER.match(last):
                mapping.update(finder_mapping(read(place)))
            elif last.endswith((".py", ".pyi", *EXTENSION_SUFFIXES)):
                packages.setdefault(top.split(".")[0], place)
        return packages, folders, mapping

    def describe(self) -> dict[str, Any]:
        packages, folders, mapping = self.layout()
        direct = self.direct_url()
        project = ""
        if direct is not None and direct["editable"]:
            project = unquote(urlparse(direct["url"]).path)
        how = "mapping" if mapping else "path file" if folders else ""
        tops = (self.dist.read_text("top_level.txt") or "").split()
        guess = normal(self.name).replace("-", "_")
        if not packages and not folders and not mapping:
            # An egg-link or a distribution without a list of files: what lies beside its metadata.
            folders = [project or str(self.dist.locate_file(""))]
            tops = tops or [guess]
            linked = (
                not project and self.record is None and os.path.isfile(os.path.join(folders[0], "setup.py"))
            )
            how = "project folder" if project or linked else ""
        for folder in folders:
            found = (
                (tops and below(folder, tops)) or below(folder, [guess]) or (below(folder, []) if how else {})
            )
            for name, place in found.items():
                packages.setdefault(name, place)
        for name, place in mapping.items():
            if "." not in name:
                packages[name] = mapped(place)["place"]
        return {
            "name": self.name,
            "version": self.version,
            "metadata": self.place,
            "entry": self.entry,
            "installer": (self.dist.read_text("INSTALLER") or "").strip(),
            "editable": bool(how) or bool(project),
            "how": how,
            "direct_url": direct,
            "recorded": self.record is not None,
            "packages": packages,
            "entry_points": self.entry_points(),
        }

    def entry_points(self) -> list[dict[str, str]]:
        """Entry points of vLLM's groups."""
        if "[vllm." not in (self.dist.read_text("entry_points.txt") or ""):
            return []
        groups = [point for point in self.dist.entry_points if point.group.startswith("vllm.")]
        return [{"group": point.group, "name": point.name, "value": point.value} for point in groups]


def below(folder: str, names: list[str]) -> dict[str, str]:
    """Those of ``names`` that lie in ``folder``; with none known, every package there."""
    found: dict[str, str] = {}
    for name in names:
        for place in (os.path.join(folder, name), os.path.join(folder, name + ".py")):
            if os.path.exists(place):
                found.setdefault(name, place)
    if not names and os.path.isdir(folder):
        for entry in sorted(os.listdir(folder)):
            if os.path.isfile(os.path.join(folder, entry, "__init__.py")):
                found[entry] = os.path.join(folder, entry)
    return found


def installed(path: list[str], problems: Problems) -> Iterator[Installed]:
    """Every distribution, in the order of the path; one that two entries reach (a link, say) once."""
    seen: set[str] = set()
    for entry in path:
        try:
            for dist in metadata.distributions(path=[entry]):
                try:
                    found = Installed(dist, entry)
                except Exception as error:  # noqa: BLE001 - broken metadata of one must not hide the others
                    problems.note(f"metadata {getattr(dist, '_path', '')}", error)
                    continue
                key = real(found.place)
                if key not in seen:
                    seen.add(key)
                    yield found
        except Exception as error:  # noqa: BLE001 - an entry that cannot be listed
            problems.note(f"path entry {entry!r}", error)


def collect(wanted: dict[str, Any]) -> dict[str, Any]:
    """The whole answer, before anything is taken out of it."""
    problems = Problems()
    cwd = os.getcwd()
    imports = [str(name) for name in wanted.get("imports", [])]
    names = {normal(name) for name in wanted.get("distributions", [])}
    path = list(START_PATH)
    if (
        __name__ == "__main__"
        and path
        and "__file__" in globals()
        and path[0] == os.path.dirname(os.path.abspath(__file__))
    ):
        path[0] = ""  # run as a file: what counts is where the user stands, not where this file lies
    if wanted.get("user_site") and sys.prefix == sys.base_prefix:
        user = site.getusersitepackages()
        if os.path.isdir(user) and user not in path:
            path.append(user)
    pth = pth_files()
    described = []
    plugins = []
    known = []
    for dist in installed([entry or cwd for entry in path], problems):
        known.append(dist.name)
        try:
            plugins += [{"distribution": dist.name, **point} for point in dist.entry_points()]
        except Exception as error:  # noqa: BLE001 - as above
            problems.note(f"entry points of {dist.name}", error)
        if normal(dist.name) not in names and not dist.may_provide(imports):
            continue
        try:
            row = dist.describe()
        except Exception as error:  # noqa: BLE001 - as above
            problems.note(f"distribution {dist.name}", error)
            continue
        row["packages"] = {
            name: place
            for name, place in row["packages"].items()
            if name in imports or normal(dist.name) in names
        }
        if row["packages"] or normal(dist.name) in names:
            row["real"] = {name: real(place) for name, place in row["packages"].items()}
            described.append(row)
    without_current = path[1:] if path and is_current(path[0], cwd) else path
    modules = {}
    for name in imports:
        modules[name] = {
            "module": candidates(name, path, problems),
            "script": candidates(name, without_current, problems),
            "loaded": name in START_MODULES,
        }
    return {
        "probe": VERSION,
        "interpreter": interpreter(cwd),
        "variables": variables(),
        "path": path_rows(path, cwd, pth),
        "pth": [row for row in pth if row["lines"]],
        "hooks": [
            f"{getattr(finder, '__module__', None) or type(finder).__module__}:"
            f"{getattr(finder, '__qualname__', type(finder).__qualname__)}"
            for finder in START_FINDERS
            if not standard(finder)
        ],
        "customized": sorted(START_MODULES & {"sitecustomize", "usercustomize"}),
        "distributions": described,
        "plugins": plugins,
        "count": len(known),
        "names": sorted(set(known)) if wanted.get("names") else [],
        "imports": modules,
        "problems": list(problems),
    }


def main(arguments: list[str]) -> None:
    wanted = json.loads(arguments[0]) if arguments else {"imports": ["vllm", "vllm_metax", "torch", "triton"]}
    answer = Scrubber(dict(os.environ), os.getcwd()).all(collect(wanted))
    mark = str(wanted.get("mark", ""))
    sys.stdout.flush()
    data = (mark + json.dumps(answer) + mark + "\n").encode("ascii")
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main(sys.argv[1:])
