"""Loads the plugin as vLLM does and says what came of it. Runs in the target interpreter: ``child.py SPEC RESULT``.

Standard library alone, Python 3.9 or newer, and nothing of this project. SPEC is a JSON file (see
``tools.probes.launch``); RESULT is written anew after every stage, so that a crash leaves what was known by then.
"""

import ast
import builtins
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import logging
import os
import re
import resource
import select
import signal
import sys
import time
import traceback
import types
import warnings
from abc import ABCMeta

FRAMES = 8
TEXT = 600
SWEEP_SECONDS = 30
DEPTH = 3


def cut(text):
    """At most TEXT characters."""
    text = str(text)
    return text if len(text) <= TEXT else text[: TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def told(error):
    """An exception with everything that led to it, the outermost first."""
    chain = []
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = [
            {"file": f.filename, "line": f.lineno, "name": f.name}
            for f in traceback.extract_tb(error.__traceback__)
            if f.filename != __file__ and not f.filename.startswith("<frozen")
        ]
        chain.append({"type": type(error).__name__, "message": cut(error), "frames": frames[-FRAMES:]})
        if isinstance(error, ImportError):
            chain[-1]["module"] = error.name
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain


class Result:
    """What is known so far, on disk after every change."""

    def __init__(self, path):
        self.path = path
        self.data = {"stages": [], "at": None, "stubs": [], "workarounds": [], "missing": []}

    def write(self):
        """The file appears whole or not at all."""
        temporary = self.path + ".part"
        with open(temporary, "w", encoding="utf-8") as stream:
            json.dump(self.data, stream, default=str)
        os.replace(temporary, self.path)

    def stage(self, name, work):
        """Run one stage; its failure is a result, and later stages run all the same."""
        self.data["at"] = name
        self.write()
        begun = time.monotonic()
        error = None
        try:
            work()
        except BaseException as caught:  # SystemExit of a plugin is a result too
            error = told(caught)
        self.data["stages"].append(
            {"name": name, "error": error, "seconds": round(time.monotonic() - begun, 3)}
        )
        self.data["at"] = None
        self.write()
        return error is None


# ---- stand-ins for what is missing ----


class AnyMeta(ABCMeta):
    """Classes that have every attribute, can be called, subscripted and derived from."""

    def __getattr__(cls, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return stand_in(name)

    def __getitem__(cls, item):
        return cls

    def __call__(cls, *args, **kwargs):
        if cls.__dict__.get("_stand_in_"):
            # Used as a decorator, it leaves what it decorates as it is.
            if len(args) == 1 and not kwargs and (inspect.isclass(args[0]) or inspect.isroutine(args[0])):
                return args[0]
            return stand_in(cls.__name__)
        return super().__call__(*args, **kwargs)

    def __iter__(cls):
        return iter(())

    def __len__(cls):
        return 0

    def __or__(cls, other):
        return cls

    def __ror__(cls, other):
        return cls

    def __contains__(cls, item):
        return False

    def __ge__(cls, other):
        return True

    def __enter__(cls):
        return cls

    def __exit__(cls, *exc):
        return False


def stand_in(name):
    """Something that can be used as nearly anything."""
    return AnyMeta(name, (), {"_stand_in_": True, "__module__": "stub"})


def asked_from(package=""):
    """``file:line`` of the import statement that is running, in ``package`` where that is on the stack."""
    best = ""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and "importlib" not in file and not file.startswith("<"):
            place = file + ":" + str(frame.f_lineno)
            if not best:
                best = place
            if package and frame.f_globals.get("__name__", "").partition(".")[0] == package:
                return place
        frame = frame.f_back
    return best


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last of all finders: serves a stub only where nothing real was found."""

    def __init__(self, names, result, plugin):
        self.names, self.result, self.plugin = set(names), result, plugin

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.names:
            return None
        row = {"module": name, "asked_by": asked_from(self.plugin)}
        if row not in self.result.data["stubs"]:
            self.result.data["stubs"].append(row)
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = []
        return spec

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__version__ = "0.0.0"
        module.__getattr__ = stand_in_of
        return module

    def exec_module(self, module):
        """Nothing to run."""


def stand_in_of(name):
    """Attributes of a stub module."""
    if name.startswith("__"):
        raise AttributeError(name)
    return stand_in(name)


# ---- the tolerant pass ----


class Tolerant(importlib.abc.MetaPathFinder):
    """Compiles modules of the plugin with a guard around every import statement."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name != self.package and not name.startswith(self.package + "."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = GuardedLoader(spec.loader.name, spec.loader.path)
        return spec


class GuardedLoader(importlib.machinery.SourceFileLoader):
    """The module as it is, but that a failing import is noted and its name bound to a stand-in."""

    def get_code(self, fullname):
        # Neither read nor written: a cached file would hold the other form.
        return self.source_to_code(self.get_data(self.path), self.path)

    def source_to_code(self, data, path, *, _optimize=-1):
        tree = Guard().visit(ast.parse(data, path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class Guard(ast.NodeTransformer):
    """``import x`` -> ``try: import x`` / ``except Exception as e: x = <noted>``, one name at a time.

    Where the source itself catches a failing import, its own way is taken.
    """

    def visit_Try(self, node):
        if not any(self.catches(handler) for handler in node.handlers):
            return self.generic_visit(node)
        for part in (node.handlers, node.orelse, node.finalbody):
            seen = [self.visit(child) for child in part]
            part[:] = [n for found in seen for n in (found if isinstance(found, list) else [found])]
        return node

    @staticmethod
    def catches(handler):
        if handler.type is None:
            return True
        caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {getattr(c, "id", getattr(c, "attr", "")) for c in caught}
        return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})

    def visit_Import(self, node):
        return [
            self.guarded(node, ast.Import([a]), a.asname or a.name.partition(".")[0], a.name, "", 0)
            for a in node.names
        ]

    def visit_ImportFrom(self, node):
        if node.module == "__future__":
            return node
        out = []
        for alias in node.names:
            single = ast.ImportFrom(node.module, [alias], node.level)
            bound = "" if alias.name == "*" else alias.asname or alias.name
            out.append(self.guarded(node, single, bound, node.module or "", alias.name, node.level))
        return out

    def guarded(self, node, single, bound, module, name, level):
        values = [ast.Constant(v) for v in (bound, module, name, level, node.lineno)]
        call = ast.Call(
            ast.Attribute(
                ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant("builtins")], []),
                "_probe_missing_",
                ast.Load(),
            ),
            [
                ast.Call(ast.Name("globals", ast.Load()), [], []),
                ast.Name("_probe_error_", ast.Load()),
                *values,
            ],
            [],
        )
        target = ast.Name(bound or "_probe_star_", ast.Store())
        handler = ast.ExceptHandler(
            ast.Name("Exception", ast.Load()), "_probe_error_", [ast.Assign([target], call)]
        )
        guarded = ast.Try([single], [handler], [], [])
        for part in ast.walk(guarded):
            ast.copy_location(part, node)
        return guarded


def note_missing(result):
    """What a guarded import calls when it fails."""

    def missing(space, error, bound, module, name, level, line):
        row = {
            "file": space.get("__file__", ""),
            "line": line,
            "importer": space.get("__name__", ""),
            "module": "." * level + module,
            "name": name,
            "error": cut(error),
            "type": type(error).__name__,
        }
        # A module that fails while it runs says so again in everybody who imports it.
        if row not in result.data["missing"]:
            result.data["missing"].append(row)
        return stand_in(bound or name)

    return missing


# ---- what is there afterwards ----


def origin(item):
    """(``module:qualname``, file) of a class, function or instance."""
    named = item if inspect.isclass(item) or inspect.isroutine(item) else type(item)
    module = getattr(named, "__module__", "") or ""
    file = getattr(sys.modules.get(module), "__file__", None)
    return module + ":" + getattr(named, "__qualname__", type(named).__name__), file


class Reader:
    """Finds what belongs to the plugin inside upstream's modules."""

    def __init__(self, upstream, plugin):
        self.upstream, self.plugin = upstream, plugin

    def own(self, item):
        """Whether a class or function is defined in the plugin."""
        if not (inspect.isclass(item) or inspect.isroutine(item)):
            return False
        return self.named(getattr(item, "__module__", "") or "")

    def named(self, text):
        """Whether a dotted name or class path lies in the plugin."""
        return isinstance(text, str) and re.match(re.escape(self.plugin) + r"(\.|:|$)", text) is not None

    def modules(self):
        """Loaded modules of upstream; a copy, because looking may import."""
        start = self.upstream + "."
        found = [(n, m) for n, m in list(sys.modules.items()) if n == self.upstream or n.startswith(start)]
        return sorted(((n, m) for n, m in found if isinstance(m, types.ModuleType)), key=lambda pair: pair[0])

    def registered(self):
        """Objects and class paths of the plugin in upstream's containers."""
        rows = []
        seen = set()
        # Containers under their own names first: lazy stand-ins for modules hold them too.
        for direct in (True, False):
            for name, module in self.modules():
                for attribute, value in list(vars(module).items()):
                    if not attribute.startswith("__"):
                        self.top(name, attribute, value, direct, rows, seen)
        return rows

    def top(self, name, attribute, value, direct, rows, seen):
        place = name + ":" + attribute
        if direct and self.container(value):
            self.look(value, place, "", rows, seen, 0)
        elif direct and inspect.isclass(value):
            if getattr(value, "__module__", None) == name:
                for inner, held in list(vars(value).items()):
                    if not inner.startswith("__") and self.container(held):
                        self.look(held, place + "." + inner, "", rows, seen, 0)
        elif not direct and not inspect.isclass(value) and self.ours(value):
            for inner, held in self.parts(value):
                if self.container(held):
                    self.look(held, place + "." + inner, "", rows, seen, 0)

    def container(self, value):
        return isinstance(value, (dict, list, tuple, set, frozenset))

    def ours(self, value):
        """An instance of one of upstream's classes."""
        module = getattr(type(value), "__module__", "") or ""
        return module == self.upstream or module.startswith(self.upstream + ".")

    def parts(self, value):
        try:
            return list(vars(value).items())
        except TypeError:
            slots = getattr(type(value), "__slots__", ())
            slots = (slots,) if isinstance(slots, str) else slots
            return [(s, getattr(value, s)) for s in slots if hasattr(value, s)]

    def look(self, value, place, key, rows, seen, depth):
        if not self.container(value):
            self.item(value, place, key, rows, seen, depth)
            return
        if id(value) in seen or depth > DEPTH or len(value) > 5000:
            return
        seen.add(id(value))
        pairs = list(value.items()) if isinstance(value, dict) else [("", item) for item in list(value)]
        for inner, item in pairs:
            label = key_of(inner)
            self.look(item, place, " / ".join(p for p in (key, label) if p), rows, seen, depth + 1)

    def item(self, value, place, key, rows, seen, depth):
        row = {"container": place, "key": key}
        if self.own(value):
            row["object"], row["file"] = origin(value)
            rows.append(row)
        elif self.named(value):
            rows.append({**row, "path": value})
        elif depth and self.ours(value) and not inspect.isclass(value) and id(value) not in seen:
            seen.add(id(value))
            parts = dict(self.parts(value))
            path = parts.get("module_name")
            if self.named(path) and isinstance(parts.get("class_name"), str):
                rows.append({**row, "path": path + ":" + parts["class_name"]})
            elif self.own(parts.get("model_cls")):
                found, file = origin(parts["model_cls"])
                rows.append({**row, "object": found, "file": file})

    def patched(self):
        """Names of upstream's modules and classes that are bound to something of the plugin."""
        rows = []
        for name, module in self.modules():
            for attribute, value in list(vars(module).items()):
                if self.own(value):
                    rows.append(self.replaced(name, attribute, value))
                elif inspect.isclass(value) and getattr(value, "__module__", None) == name:
                    for inner, held in list(vars(value).items()):
                        plain = held.__func__ if isinstance(held, (staticmethod, classmethod)) else held
                        plain = plain.fget if isinstance(plain, property) else plain
                        if self.own(plain):
                            rows.append(self.replaced(name, attribute + "." + inner, plain))
        for name, module in list(sys.modules.items()):
            real = getattr(module, "__name__", name)
            if name.startswith(self.upstream + ".") and self.named(real):
                rows.append({"target": name, "object": real, "file": getattr(module, "__file__", None)})
        return rows

    def replaced(self, module, attribute, value):
        found, file = origin(value)
        return {"target": module + ":" + attribute, "object": found, "file": file}

    def stale(self, patched):
        """Names elsewhere that still hold what a patch replaced."""
        homes = {}
        for row in patched:
            module, _, attribute = row["target"].partition(":")
            if attribute and "." not in attribute:
                homes.setdefault(attribute, set()).add(module)
        rows = []
        for name, module in list(sys.modules.items()):
            root = name.partition(".")[0]
            if root not in (self.upstream, self.plugin) or not isinstance(module, types.ModuleType):
                continue
            for attribute, value in list(vars(module).items()):
                if not (inspect.isclass(value) or inspect.isroutine(value)):
                    continue
                home = getattr(value, "__module__", None)
                plain = getattr(value, "__qualname__", "")
                if plain in homes and home in homes[plain] and name != home:
                    rows.append({"module": name, "name": attribute, "target": home + ":" + plain})
        return sorted(rows, key=lambda r: (r["module"], r["name"]))


def key_of(key):
    """A key as text."""
    if isinstance(key, str):
        return key
    name = getattr(key, "name", None)
    if name is not None and hasattr(type(key), "__members__"):
        return type(key).__name__ + "." + str(name)
    if inspect.isclass(key):
        return key.__qualname__
    return cut(repr(key)) if key != "" else ""


def resolve(path):
    """The object behind ``pkg.mod:Name`` or ``pkg.mod.Name``."""
    module, colon, name = path.partition(":")
    if not colon:
        module, _, name = path.rpartition(".")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


class Heard(logging.Handler):
    """Warnings and worse that were logged, with the exception they tell of."""

    def __init__(self, rows):
        super().__init__(logging.WARNING)
        self.rows = rows

    def emit(self, record):
        error = record.exc_info[1] if record.exc_info and record.exc_info[1] else None
        if len(self.rows) < 200:
            self.rows.append(
                {
                    "logger": record.name,
                    "level": record.levelname,
                    "message": cut(record.getMessage()),
                    "place": record.pathname + ":" + str(record.lineno),
                    "error": told(error) if error is not None else None,
                }
            )


class Probe:
    """The stages in their order."""

    def __init__(self, spec, result):
        self.spec, self.result, self.data = spec, result, result.data
        self.upstream, self.plugin = spec["upstream"], spec["plugin"]
        self.reader = Reader(self.upstream, self.plugin)

    def run(self):
        self.prepare()
        stage = self.result.stage
        stage("import " + self.upstream, lambda: importlib.import_module(self.upstream))
        stage("platform", self.platform)
        stage("general plugins", self.general)
        stage("platform registration", self.pre_register)
        if self.spec["brief"]:
            self.data["complete"] = True
            self.result.write()
            return
        stage("registries", self.registries)
        stage("effective state", self.state)
        stage("second load", self.second)
        if self.spec["mode"] == "tolerant":
            stage("every module", self.everything)
        else:
            stage("every module alone", self.sweep)
            stage("recorded calls", self.calls)
        stage("origins", self.origins)
        self.data["memory_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        self.data["complete"] = True
        self.result.write()

    def prepare(self):
        self.data["interpreter"] = {
            "executable": sys.executable,
            "version": sys.version.split()[0],
            "prefix": sys.prefix,
            "cwd": os.getcwd(),
        }
        if self.spec["memory_mib"]:
            limit = self.spec["memory_mib"] << 20
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sys.path[:] = [
            p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))
        ]
        sys.path[:0] = self.spec["roots"]
        if self.spec["stubs"]:
            sys.meta_path.append(Stubs(self.spec["stubs"], self.result, self.plugin))
        if self.spec["mode"] == "tolerant":
            builtins._probe_missing_ = note_missing(self.result)
            sys.meta_path.insert(0, Tolerant(self.plugin))
            self.data["workarounds"].append("every import statement of the plugin is guarded")
        self.data["swallowed"] = []
        logging.getLogger().addHandler(Heard(self.data["swallowed"]))
        logging.getLogger(self.upstream).addHandler(Heard(self.data["swallowed"]))
        self.data["warnings"] = []
        warnings.showwarning = self.warned
        if self.spec["fake_capability"]:
            self.result.stage("fake CUDA capability", self.fake)

    def warned(self, message, category, filename, lineno, file=None, line=None):
        if len(self.data["warnings"]) < 100:
            self.data["warnings"].append(
                {"type": category.__name__, "message": cut(message), "place": filename + ":" + str(lineno)}
            )

    def fake(self):
        """Code that asks for the device's capability while it is imported stops on a machine without one."""
        major, minor = self.spec["fake_capability"]
        torch = importlib.import_module("torch")
        torch.cuda.get_device_capability = lambda *a, **k: (major, minor)
        self.data["workarounds"].append(f"torch.cuda.get_device_capability answers {major}.{minor}")

    def platform(self):
        platforms = importlib.import_module(self.upstream + ".platforms")
        current = platforms.current_platform
        found, file = origin(current)
        self.data["platform"] = {
            "object": found,
            "file": file,
            "own": any(self.reader.named(c.__module__) for c in type(current).__mro__),
        }

    def general(self):
        importlib.import_module(self.upstream + ".plugins").load_general_plugins()

    def pre_register(self):
        platforms = importlib.import_module(self.upstream + ".platforms")
        hook = getattr(platforms.current_platform, "pre_register_and_update", None)
        if hook is not None:
            hook()

    def registries(self):
        failed = []
        for name in self.spec["registries"]:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                # Releases differ in where a registry lives; what is inside it failing to import is another matter.
                if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                    failed.append(error)
            except Exception as error:
                failed.append(error)
        if failed:
            raise failed[0]

    def state(self):
        rows = self.reader.registered()
        for row in rows:
            if "path" in row:
                try:
                    row["object"], row["file"] = origin(resolve(row["path"]))
                except BaseException as error:
                    row["error"] = told(error)
        self.data["registered"] = rows
        self.data["patched"] = self.reader.patched()
        self.data["stale"] = self.reader.stale(self.data["patched"])

    def second(self):
        """What a second call does after the first: a failure that is not told again looks like success."""
        before = len(self.reader.registered())
        try:
            importlib.import_module(self.upstream + ".plugins").load_general_plugins()
            raised = None
        except BaseException as error:
            raised = told(error)
        self.data["second_load"] = {
            "error": raised,
            "registered_before": before,
            "registered_after": len(self.reader.registered()),
        }

    def sweep(self):
        """Each module of the plugin imported in a fork of its own, so that no failure hides another."""
        rows = self.data["modules"] = []
        for name in self.spec["modules"]:
            if name in sys.modules:
                rows.append({"module": name, "error": None, "ended": "loaded"})
                continue
            rows.append(self.alone(name))

    def alone(self, name):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(read)
            try:
                error = None
                try:
                    importlib.import_module(name)
                except BaseException as caught:
                    error = told(caught)
                os.write(write, json.dumps({"error": error}).encode()[:60000])
            finally:
                os._exit(0)
        os.close(write)
        said, ended = b"", ""
        deadline = time.monotonic() + SWEEP_SECONDS
        while True:
            ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                ended = "hangs"
                os.kill(pid, signal.SIGKILL)
                break
            part = os.read(read, 65536)
            if not part:
                break
            said += part
        os.close(read)
        _, status = os.waitpid(pid, 0)
        if ended:
            return {"module": name, "error": None, "ended": ended}
        try:
            return {"module": name, "error": json.loads(said)["error"], "ended": "imported"}
        except ValueError:
            return {"module": name, "error": None, "ended": "ended with status " + str(status)}

    def everything(self):
        """All modules in this process: their failing imports are noted, one pass is enough."""
        rows = self.data["modules"] = []
        for name in self.spec["modules"]:
            error = None
            try:
                importlib.import_module(name)
            except BaseException as caught:
                error = told(caught)
            rows.append({"module": name, "error": error, "ended": "imported"})

    def calls(self):
        """Calls that the source makes, bound to the signatures of the objects that are there."""
        fine = {
            r["module"]
            for r in self.data["modules"]
            if r["error"] is None and r["ended"] in ("loaded", "imported")
        }
        bound, skipped, rows = 0, 0, []
        for module, line, scope, callee, given, keywords, open_ended in self.spec["calls"]:
            if module not in fine:
                skipped += 1
                continue
            try:
                found = importlib.import_module(module)
                for part in callee.split("."):
                    found = getattr(found, part)
                if getattr(found, "__module__", "") == "stub":
                    raise ValueError("a stub")
                signature = inspect.signature(found)
            except BaseException:
                skipped += 1
                continue
            try:
                bind = signature.bind_partial if open_ended else signature.bind
                bind(*[None] * given, **dict.fromkeys(keywords))
                bound += 1
            except TypeError as error:
                place, file = origin(found)
                rows.append(
                    {
                        "module": module,
                        "line": line,
                        "scope": scope,
                        "callee": callee,
                        "object": place,
                        "file": file,
                        "signature": cut(signature),
                        "error": cut(error),
                    }
                )
        self.data["calls"] = {"bound": bound, "skipped": skipped, "failed": rows}

    def origins(self):
        """Where the modules of both packages were really imported from."""
        rows = {self.upstream: {}, self.plugin: {}}
        elsewhere = []
        for name, module in list(sys.modules.items()):
            root = name.partition(".")[0]
            file = getattr(module, "__file__", None)
            if root not in rows or not file:
                continue
            folder = os.path.abspath(file)
            for _ in range(
                getattr(module, "__name__", name).count(".") + (2 if hasattr(module, "__path__") else 1)
            ):
                folder = os.path.dirname(folder)
            rows[root][folder] = rows[root].get(folder, 0) + 1
            expected = self.spec["expected"].get(root)
            if expected and not os.path.realpath(file).startswith(os.path.realpath(expected) + os.sep):
                elsewhere.append({"module": name, "file": file})
        self.data["origins"] = {"folders": rows, "elsewhere": elsewhere[:100]}


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        spec = json.load(stream)
    result = Result(sys.argv[2])
    result.write()
    Probe(spec, result).run()


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads and exit handlers of what was imported are nobody's concern any more.
    os._exit(0)
