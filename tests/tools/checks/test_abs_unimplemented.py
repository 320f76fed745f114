"""Abstract methods that the plugin's classes lack."""

from tests.tools.trees import findings

BASE = """
    from abc import ABC, abstractmethod

    class Impl(ABC):
        @abstractmethod
        def forward(self, x):
            raise NotImplementedError
"""
TARGET = (
    BASE
    + """
        @abstractmethod
        def forward_mha(self, x):
            raise NotImplementedError

        @abstractmethod
        def forward_mqa(self, x):
            raise NotImplementedError
"""
)
PLUGIN = {
    "impl.py": """
        from vllm.impl import Impl

        class OurImpl(Impl):
            def forward(self, x):
                return x

        class Backend:
            @staticmethod
            def get_impl_cls() -> type["OurImpl"]:
                return OurImpl
    """
}


def test_a_class_became_abstract() -> None:
    (finding,) = findings(PLUGIN, {"impl.py": BASE}, {"impl.py": TARGET}, "ABS001")
    assert finding.severity == "error"
    assert finding.introduced
    assert "`forward_mha`, `forward_mqa`" in finding.message
    assert "get_impl_cls" in finding.trigger
    assert "importing it shows nothing" in finding.consequence


def test_an_implementation_anywhere_on_the_mro_is_enough() -> None:
    plugin = {
        "impl.py": """
            from vllm.impl import Impl

            class Mixin:
                def forward_mha(self, x):
                    return x

                forward_mqa = forward_mha

            class OurImpl(Mixin, Impl):
                def forward(self, x):
                    return x

            made = OurImpl()
        """
    }
    assert findings(plugin, {"impl.py": BASE}, {"impl.py": TARGET}, "ABS001") == []


def test_without_abc_nothing_is_refused() -> None:
    loose = TARGET.replace("class Impl(ABC):", "class Impl:")
    assert findings(PLUGIN, {"impl.py": BASE}, {"impl.py": loose}, "ABS001") == []


def test_a_base_of_the_plugin_may_stay_abstract() -> None:
    plugin = {
        "impl.py": """
            from vllm.impl import Impl

            class Common(Impl):
                def forward(self, x):
                    return x

            class Mine(Common):
                def forward_mha(self, x):
                    return x

                def forward_mqa(self, x):
                    return x
        """
    }
    assert findings(plugin, {"impl.py": BASE}, {"impl.py": TARGET}, "ABS001") == []
