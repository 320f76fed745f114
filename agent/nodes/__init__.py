"""The steps of the graph, one file each: ``run(state, bench)`` returns the part of the state that it adds."""
