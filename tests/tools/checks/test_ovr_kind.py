"""Kinds of methods: coroutines, properties, static and class methods."""

from tests.tools.trees import findings

ENGINE = """
    class Worker:
        def finish(self):
            return None

    class Engine:
        def __init__(self, worker: Worker):
            self.worker = worker

        def stop(self):
            self.worker.finish()
"""
PLUGIN = {
    "worker.py": """
        from vllm.engine import Worker

        class Ours(Worker):
            def finish(self):
                print("done")
    """
}


def test_a_method_became_a_coroutine() -> None:
    target = ENGINE.replace("def finish", "async def finish").replace("def stop", "async def stop")
    target = target.replace("self.worker.finish()", "await self.worker.finish()")
    (finding,) = findings(PLUGIN, {"engine.py": ENGINE}, {"engine.py": target}, "OVR005")
    assert finding.severity == "error"
    assert "awaits its result" in finding.message
    assert findings(PLUGIN, {"engine.py": ENGINE}, {"engine.py": ENGINE}, "OVR005") == []


def test_a_method_became_static_and_is_called_on_the_class() -> None:
    base = """
        class Backend:
            def shape(self, blocks):
                return blocks

        def allocate(backend: Backend):
            return backend.shape(1)
    """
    target = """
        class Backend:
            @staticmethod
            def shape(blocks):
                return blocks

        def allocate(backend: type[Backend]):
            return backend.shape(1)
    """
    plugin = {
        "backend.py": """
            from vllm.backend import Backend

            class Ours(Backend):
                def shape(self, blocks):
                    return blocks * 2
        """
    }
    (finding,) = findings(plugin, {"backend.py": base}, {"backend.py": target}, "OVR005")
    assert "no instance is bound" in finding.message
    static = {
        "backend.py": plugin["backend.py"].replace(
            "def shape(self, ", "@staticmethod\n            def shape("
        )
    }
    static = {
        "backend.py": static["backend.py"].replace("            def shape(", "                def shape(")
    }
    assert findings(static, {"backend.py": base}, {"backend.py": target}, "OVR005") == []
