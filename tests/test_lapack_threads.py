"""Linear algebra on one thread while a fit runs."""

from threadpoolctl import threadpool_info, threadpool_limits

from graphgrad.lapack_threads import one_lapack_thread


def numbers() -> set[int]:
    """Threads of the linear algebra libraries."""
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }


def test_the_number_of_threads_is_restored_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        try:
            with one_lapack_thread():
                assert numbers() == {1}
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert numbers() == {2}
