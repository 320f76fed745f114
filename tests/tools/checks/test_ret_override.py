"""What overrides return, and what the target's callers do with it."""

from tests.tools.trees import findings

WORKER = """
    class WorkerBase:
        def compile_or_warm_up_model(self) -> None:
            raise NotImplementedError

    class Engine:
        def __init__(self, worker: WorkerBase):
            self.worker = worker

        def start(self):
            self.worker.compile_or_warm_up_model()
"""
PLUGIN = {
    "worker.py": """
        from vllm.worker import WorkerBase

        class Worker(WorkerBase):
            def compile_or_warm_up_model(self) -> None:
                print("warm")
    """
}


def test_nothing_where_the_caller_reads_a_field() -> None:
    target = WORKER.replace("-> None", '-> "Times"').replace(
        "self.worker.compile_or_warm_up_model()",
        "self.t = self.worker.compile_or_warm_up_model().language_model",
    )
    (finding,) = findings(PLUGIN, {"worker.py": WORKER}, {"worker.py": target}, "RET002")
    assert finding.severity == "error"
    assert "reads `.language_model`" in finding.message
    assert findings(PLUGIN, {"worker.py": WORKER}, {"worker.py": WORKER}, "RET002") == []


def test_nothing_where_a_number_is_used() -> None:
    target = WORKER.replace("-> None", "-> float").replace(
        "self.worker.compile_or_warm_up_model()", "self.seconds = self.worker.compile_or_warm_up_model()"
    )
    (finding,) = findings(PLUGIN, {"worker.py": WORKER}, {"worker.py": target}, "RET002")
    assert finding.severity == "warning"
    assert finding.introduced


def test_a_result_by_name_through_rpc() -> None:
    target = WORKER.replace("-> None", "-> float").replace(
        "self.worker.compile_or_warm_up_model()",
        'times = self.collective_rpc("compile_or_warm_up_model")\n            return max(times)',
    )
    (finding,) = findings(PLUGIN, {"worker.py": WORKER}, {"worker.py": target}, "RET002")
    assert "uses it" in finding.message


def test_an_override_that_always_raises_returns_nothing_wrong() -> None:
    plugin = {"worker.py": PLUGIN["worker.py"].replace('print("warm")', 'raise RuntimeError("no")')}
    target = WORKER.replace("-> None", "-> float").replace(
        "self.worker.compile_or_warm_up_model()", "self.seconds = self.worker.compile_or_warm_up_model()"
    )
    assert findings(plugin, {"worker.py": WORKER}, {"worker.py": target}, "RET002") == []


HIT = """
    class Manager:
        def find_longest_cache_hit(self, request) -> tuple[int, int, int]:
            return 1, 2, 3

        def get_computed_blocks(self, request):
            a, b, c = self.find_longest_cache_hit(request)
            return a
"""
OURS = {
    "m.py": """
        from vllm.m import Manager

        class Ours(Manager):
            def find_longest_cache_hit(self, request) -> tuple[int, int]:
                return 1, 2
    """
}


def test_an_override_returns_two_where_three_are_unpacked() -> None:
    base = HIT.replace("int, int, int]", "int, int]").replace("1, 2, 3", "1, 2").replace("a, b, c", "a, b")
    (finding,) = findings(OURS, {"m.py": base}, {"m.py": HIT}, "RET002")
    assert finding.severity == "error"
    assert "unpacks 3 values" in finding.message
    assert findings(OURS, {"m.py": base}, {"m.py": base}, "RET002") == []


def test_a_list_of_something_else() -> None:
    base = """
        class Scheduler:
            def finish_requests(self, ids) -> list[tuple[str, int]]:
                return list(ids)

            def step(self):
                done = self.finish_requests([1])
                return done
    """
    plugin = {
        "s.py": """
            from vllm.s import Scheduler

            class Ours(Scheduler):
                def finish_requests(self, ids) -> list[tuple[str, int]]:
                    return [("a", i) for i in ids]
        """
    }
    target = base.replace("list[tuple[str, int]]", 'list["Request"]')
    (finding,) = findings(plugin, {"s.py": base}, {"s.py": target}, "RET002")
    assert finding.severity == "note"
    assert findings(plugin, {"s.py": base}, {"s.py": base}, "RET002") == []
