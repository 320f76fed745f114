"""Constructors of plugin classes against the target's constructions."""

from tests.tools.trees import findings

BATCH = """
    class InputBatch:
        def __init__(self, size):
            self.size = size
"""
RUNNER = """
    from vllm.batch import InputBatch

    class Runner:
        def start(self):
            self.batch = InputBatch(size=1)
"""
STAND_IN = {
    "batch.py": """
        import vllm.batch

        class InputBatch:
            def __init__(self, size):
                self.size = size

        vllm.batch.InputBatch = InputBatch
    """
}


def test_a_class_put_in_place_of_upstreams() -> None:
    base = {"batch.py": BATCH, "runner.py": RUNNER}
    target = {
        "batch.py": BATCH.replace("size)", "size, block_size)"),
        "runner.py": RUNNER.replace("size=1", "size=1, block_size=16"),
    }
    (finding,) = findings(STAND_IN, base, target, "OVR002")
    assert finding.severity == "error"
    assert finding.introduced
    assert "`block_size`" in finding.message
    assert "runner.py:6" in finding.message
    assert findings(STAND_IN, base, base, "OVR002") == []


SCHEDULER = {
    "sched.py": """
        class Scheduler:
            def __init__(self, config):
                self.config = config
    """,
    "config.py": """
        from vllm.sched import Scheduler

        class SchedulerConfig:
            def get_scheduler_cls(self) -> type["Scheduler"]:
                return resolve(self.scheduler_cls)
    """,
    "core.py": """
        class Core:
            def __init__(self, config):
                Chosen = config.scheduler_config.get_scheduler_cls()
                self.scheduler = Chosen(config=config)
    """,
}
OURS = {
    "sched.py": """
        from vllm.sched import Scheduler

        class BalanceScheduler(Scheduler):
            def __init__(self, config):
                super().__init__(config)
    """,
    "platform.py": """
        def update(config):
            config.scheduler_cls = "vllm_metax.sched.BalanceScheduler"
    """,
}


def test_a_class_chosen_by_path_in_the_configuration() -> None:
    target = {
        **SCHEDULER,
        "sched.py": SCHEDULER["sched.py"].replace("config)", "config, hash_block_size=None)"),
        "core.py": SCHEDULER["core.py"].replace("(config=config)", "(config=config, hash_block_size=8)"),
    }
    (finding,) = findings(OURS, SCHEDULER, target, "OVR002")
    assert finding.path == "vllm_metax/sched.py"
    assert "core.py:5" in finding.message
    assert "`hash_block_size`" in finding.message
    assert findings(OURS, SCHEDULER, SCHEDULER, "OVR002") == []


def test_a_choice_that_most_classes_could_not_take_means_others() -> None:
    target = {
        **SCHEDULER,
        "sched.py": """
            class Scheduler:
                def __init__(self, config, special=None):
                    self.config = config

            class One(Scheduler):
                def __init__(self, config):
                    pass

            class Two(Scheduler):
                def __init__(self, config):
                    pass
        """,
        "core.py": SCHEDULER["core.py"].replace("(config=config)", "(config=config, special=8)"),
    }
    assert findings(OURS, SCHEDULER, target, "OVR002") == []


def test_register_oot_without_the_new_parameters() -> None:
    op = """
        class CustomOp:
            @classmethod
            def register_oot(cls, op):
                return op
    """
    indexer = """
        from vllm.op import CustomOp

        class Indexer(CustomOp):
            def __init__(self, cache, skip=False):
                pass

        def build():
            return Indexer(1, skip=True)
    """
    plugin = {
        "indexer.py": """
            from vllm.indexer import Indexer

            @Indexer.register_oot
            class OurIndexer(Indexer):
                def __init__(self, cache):
                    pass
        """
    }
    old = {"op.py": op, "indexer.py": indexer.replace(", skip=False", "").replace(", skip=True", "")}
    (finding,) = findings(plugin, old, {"op.py": op, "indexer.py": indexer}, "OVR002")
    assert finding.symbol == "OurIndexer.__init__"
    assert finding.certainty == "certain"
