"""Programs that are compiled while a function runs."""

import jax


def compilations(function) -> int:
    """Number of programs that are compiled, or read from the cache, by a call."""
    count = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        del duration_secs, kwargs
        if event == "/jax/core/compile/backend_compile_duration":
            count.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        function()
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    return len(count)
