"""Members that only some registered classes have."""

from tests.tools.trees import findings

UPSTREAM = {
    "quant.py": """
        def register_config(name):
            return lambda cls: cls

        class Config:
            def get_name(self):
                return ""
    """
}
PLUGIN = {
    "one.py": """
        from vllm.quant import Config, register_config

        @register_config("one")
        class One(Config):
            def fa_layers(self):
                return []
    """,
    "two.py": """
        from vllm.quant import Config, register_config

        @register_config("two")
        class Two(Config):
            pass
    """,
    "use.py": """
        def layers(vllm_config):
            return vllm_config.quant_config.fa_layers()
    """,
}


def test_missing_on_one_of_two() -> None:
    (finding,) = findings(PLUGIN, UPSTREAM, UPSTREAM, "ABS002")
    assert finding.path == "vllm_metax/two.py"
    assert "missing on 1 of 2" in finding.message
    assert "use.py:3" in finding.message


def test_a_caller_that_asks_first_is_fine() -> None:
    plugin = {
        **PLUGIN,
        "use.py": """
            def layers(vllm_config):
                if hasattr(vllm_config.quant_config, "fa_layers"):
                    return vllm_config.quant_config.fa_layers()
        """,
    }
    assert findings(plugin, UPSTREAM, UPSTREAM, "ABS002") == []


def test_a_caller_that_knows_its_class_is_fine() -> None:
    plugin = {
        **PLUGIN,
        "use.py": """
            from vllm_metax.one import One

            def layers(config: One):
                return config.fa_layers()
        """,
    }
    assert findings(plugin, UPSTREAM, UPSTREAM, "ABS002") == []
