"""Engines by name, and automatic choice of the engine."""

from collections.abc import MutableMapping

import jax.numpy as jnp
from jax.core import Tracer

from .. import registries
from ..checks import check_choice
from ..model import (
    AbstractIndependentNoise,
    GaussianNoise,
    GeneralObservation,
    LinearGaussian,
    StateSpaceModel,
)
from .sweep import AbstractEngine

MANY_STATES = 250
"""States above which covariances of all of them at each row need too much memory."""

ENGINES: MutableMapping[str, type[AbstractEngine]] = registries.ENGINES


def choose_engine(
    engine: str | AbstractEngine, model: StateSpaceModel
) -> tuple[AbstractEngine, str]:
    """Return an engine, and a description with the reason for the choice.

    Args:
        engine: An engine, its name, or `"auto"`.
        model: The model.

    Examples:
        >>> import graphgrad as gg
        >>> choose_engine("auto", gg.systems.lorenz63().model())[1]
        'gaussian: all noises are Gaussian and the states are few'
    """
    if isinstance(engine, AbstractEngine):
        _check_noise(engine, model)
        return engine, f"{type(engine).__name__}: as asked for"
    check_choice("engine", engine, ("auto", *ENGINES))
    reason = "as asked for"
    if engine == "auto":
        engine, reason = _automatic(model)
    made = ENGINES[engine]()
    _check_noise(made, model)
    return made, f"{engine}: {reason}"


def _check_noise(engine: AbstractEngine, model: StateSpaceModel) -> None:
    """Raise if an engine that samples states is used without process noise."""
    noise = model.transition.noise
    if not (engine.stochastic and isinstance(noise, GaussianNoise)):
        return
    if not isinstance(noise.scale, Tracer) and not bool(jnp.any(noise.scale)):
        raise ValueError(
            "`state_noise` must not be 0 for an engine that samples states, got 0 with "
            f"{type(engine).__name__}. Use the gaussian engine, or a small variance."
        )


def _automatic(model: StateSpaceModel) -> tuple[str, str]:
    noise, observation = model.transition.noise, model.observation
    known = isinstance(noise, GaussianNoise | AbstractIndependentNoise) and isinstance(
        observation, LinearGaussian | GeneralObservation
    )
    if not known or not isinstance(model.initial_noise, GaussianNoise):
        return "particle", "not all distributions are known to be unimodal"
    gaussian = isinstance(noise, GaussianNoise) and isinstance(
        observation, LinearGaussian
    )
    if gaussian and model.n_states > MANY_STATES:
        return "ensemble", f"{model.n_states} states are many"
    if gaussian:
        return "gaussian", "all noises are Gaussian and the states are few"
    return "gaussian", "all distributions are unimodal; approximated by Gaussian ones"
