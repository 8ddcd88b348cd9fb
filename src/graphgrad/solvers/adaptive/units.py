"""Standard units: inside the solver, states and time are of the size of one.

Numbers of very different size lose digits in sums and factorisations, so that the unit
of a column could change the terms found. Here each column has unit standard deviation,
and a usual interval of a flow is one; terms about another origin than zero are terms
about zero. Results are given back in the user's units.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from ...library import Shifted, origin_of
from ...model import (
    ConstraintSet,
    FlowMean,
    GaussianNoise,
    GeneralObservation,
    LinearGaussian,
    Schedule,
    StateSpaceModel,
    StudentT,
)
from ...solution import Solution


class Units(NamedTuple):
    """Sizes of standard units, in the user's units.

    Attributes:
        states: Of each state.
        observed: Of each entry of an observation.
        inputs: Of each input; empty without any.
        time: Of the usual interval of a flow; 1 otherwise.
        coefficients: A coefficient in standard units over the same in the user's.
        values: Number of observed values of each entry.
        origin: Origin of the terms, of each state.
        level: Observation of a state at the origin.
        inputs_origin: Origin of the terms, of each input.
        still: Coefficients of a map that leaves a state at the origin there; else 0.
    """

    states: Float[Array, "Nx"]
    observed: Float[Array, "Ny"]
    inputs: Float[Array, "Nu"]
    time: Float[Array, ""]
    coefficients: Float[Array, "Nx M"]
    values: Float[Array, "Ny"]
    origin: Float[Array, "Nx"]
    level: Float[Array, "Ny"]
    inputs_origin: Float[Array, "Nu"]
    still: Float[Array, "Nx M"]


def standard_units(
    model: StateSpaceModel, ys: Any, sources: Int[np.ndarray, "Nx"] | None = None
) -> Units | None:
    """Standard units of data; None where a distribution has a scale of its own.

    States in terms that are no monomials, such as sin(x), keep the user's unit.

    Args:
        model: The model.
        ys: The data.
        sources: For each state that is another one a step before, and has its unit, the
            index of that one; -1 for other states.
    """
    seen = model.observation
    kinds = model.transition.noise, model.initial_noise, seen.noise
    if not all(isinstance(noise, GaussianNoise | StudentT) for noise in kinds):
        return None
    if not isinstance(seen, LinearGaussian | GeneralObservation):
        return None
    if isinstance(seen, GeneralObservation) and seen.function is not None:
        return None
    xp = _numbers((ys, model))
    powers, n = model.library.powers, model.n_states
    other = np.isnan(powers).any(axis=0)
    bound = (model.library.incidence[:, other] != 0).any(axis=1)
    rows = xp.asarray(ys)
    observed, values = _deviations(xp, rows), xp.sum(~xp.isnan(rows), axis=0)
    states = observed
    if seen.matrix is not None:
        back = xp.linalg.pinv(xp.asarray(seen.matrix))
        direct = xp.diag(back @ xp.asarray(seen.matrix)) > 0.5
        spread = xp.sqrt(back**2 @ observed**2)
        first = xp.sqrt(xp.asarray(_variances(model.initial_noise)))
        states = _positive(xp, xp.where(direct, spread, first))
    states = xp.where(bound[:n], 1, states)
    if sources is not None:
        owners = np.arange(n)
        for i in np.flatnonzero(sources >= 0):  # sources come before
            owners[i] = owners[sources[i]]
        states = states[owners]
    if seen.matrix is None:
        observed = states
    inputs = xp.ones(0, rows.dtype)
    if model.schedule is not None and model.schedule.inputs is not None:
        inputs = _deviations(xp, xp.asarray(model.schedule.inputs))
        inputs = xp.where(bound[n:], 1, inputs)
    mean = model.mean
    time = xp.asarray(mean.interval if isinstance(mean, FlowMean) else 1, rows.dtype)
    whole = xp.concatenate([states, inputs])
    terms = xp.exp(xp.log(whole) @ np.where(other, 0, powers).astype(rows.dtype))
    coefficients = terms * time / states[:, None]
    origin = origin_of(model.library)
    level = origin[:n]
    if seen.matrix is not None:
        level = xp.asarray(seen.matrix) @ level
    still = xp.zeros_like(coefficients)
    if model.dynamics == "map":
        constant = ~np.any(model.library.incidence, axis=0)
        still = still + xp.where(constant, origin[:n, None], 0)
    return Units(
        states,
        observed,
        inputs,
        time,
        coefficients,
        values,
        origin[:n],
        level,
        origin[n:],
        still,
    )


def in_standard_units(
    units: Units, model: StateSpaceModel, ys: Any
) -> tuple[StateSpaceModel, Float[Array, "T Ny"]]:
    """Model and data in standard units."""
    xp = _numbers((ys, model))
    put = _putting(xp, ys.dtype)
    s, r, time = units.states, units.observed, units.time
    noise, initial, seen = (
        model.transition.noise,
        model.initial_noise,
        model.observation,
    )

    def scaled(noise: Any, factor: Any) -> Any:
        scale = xp.asarray(noise.scale)
        factor = factor[:, None] if scale.ndim == 2 else factor
        return eqx.tree_at(lambda n: n.scale, noise, put(scale * factor))

    model = eqx.tree_at(
        lambda m: (
            m.initial_mean,
            m.initial_noise,
            m.transition.noise,
            m.observation.noise,
        ),
        model,
        (
            put((xp.asarray(model.initial_mean) - units.origin) / s),
            scaled(initial, 1 / s),
            scaled(noise, xp.sqrt(time) / s),
            scaled(seen.noise, 1 / r),
        ),
    )
    assert isinstance(seen, LinearGaussian | GeneralObservation)
    if seen.matrix is not None:
        matrix = put(xp.asarray(seen.matrix) * s / r[:, None])
        model = eqx.tree_at(lambda m: m.observation.matrix, model, matrix)
    mean = model.mean
    user = xp.asarray(mean.coefficients)
    coefficients = put((user - units.still) * units.coefficients)
    mean = mean.with_coefficients(coefficients)
    if isinstance(mean.library, Shifted):
        mean = eqx.tree_at(lambda m: m.library, mean, mean.library.centred)
    if isinstance(mean, FlowMean):
        interval = put(xp.asarray(mean.interval) / time)
        mean = eqx.tree_at(lambda m: m.interval, mean, interval)
    model = model.with_mean(mean)
    schedule = model.schedule
    if schedule is not None:
        model = model.with_schedule(_schedule(schedule, units, xp, put))
    return model, put((xp.asarray(ys) - units.level) / r)


def _schedule(schedule: Schedule, units: Units, xp: Any, put: Callable) -> Schedule:
    inputs, later = (
        None
        if values is None
        else put((xp.asarray(values) - units.inputs_origin) / units.inputs)
        for values in (schedule.inputs, schedule.later_inputs)
    )
    return Schedule(
        pace=schedule.pace,
        fresh=schedule.fresh,
        starts=put((xp.asarray(schedule.starts) - units.origin) / units.states),
        inputs=inputs,
        later_inputs=later,
        uncertainty=schedule.uncertainty,
    )


def constraints_in(units: Units, constraints: ConstraintSet) -> ConstraintSet:
    """Constraints on coefficients in standard units."""
    xp = _numbers(units)
    ratio = units.coefficients
    linear_map, parameters = constraints.linear_map, ratio
    if linear_map is not None:
        # A parameter has the mean size, on a logarithmic scale, of what it moves.
        moves = linear_map != 0
        logs = xp.log(ratio).ravel() @ moves / np.maximum(moves.sum(axis=0), 1)
        parameters = xp.exp(logs)[None]
        linear_map = ratio.ravel()[:, None] * linear_map / parameters
    return constraints._replace(
        base=(constraints.base - units.still) * ratio,
        zero=(constraints.zero - units.still) * ratio,
        low=_times(xp, constraints.low, parameters),
        high=_times(xp, constraints.high, parameters),
        identity=constraints.identity * parameters,
        linear_map=linear_map,
    )


def start_in_standard_units(
    units: Units, start: Solution, constraints: ConstraintSet
) -> Solution:
    """Coefficients and noises of a solution, to start from, in standard units.

    Args:
        units: The standard units.
        start: The solution.
        constraints: In the user's units; what they fix is as they say.
    """
    xp = _numbers(start)
    put = _putting(xp, start.log_likelihood.dtype)
    user = xp.asarray(start.coefficients)
    if constraints.linear_map is None:
        user = xp.where(constraints.free, user, constraints.base)
    s, r = units.states, units.observed
    return eqx.tree_at(
        lambda f: (f.coefficients, f.state_noise, f.observation_noise),
        start,
        (
            put((user - units.still) * units.coefficients),
            put(xp.asarray(start.state_noise) * units.time / s**2),
            put(xp.asarray(start.observation_noise) / r**2),
        ),
    )


def in_user_units(
    units: Units, found: Solution, constraints: ConstraintSet
) -> Solution:
    """A solution in the user's units.

    Args:
        units: The standard units.
        found: The solution in standard units.
        constraints: In the user's units; coefficients that were given stay as given.
    """
    xp = _numbers(found)
    put = _putting(xp, found.log_likelihood.dtype)
    s, r, ratio = units.states, units.observed, units.coefficients
    base, zero, still = constraints.base, constraints.zero, units.still
    # A density per user's unit.
    shift = xp.sum(xp.where(units.values > 0, units.values * xp.log(r), 0))

    def coefficients(values: Any) -> Any:
        # Those that are as given are so exactly, in the precision of the solver.
        inside = xp.asarray(values)
        given, none = (
            xp.asarray((part - still) * ratio, inside.dtype) for part in (base, zero)
        )
        away = (inside - given) / ratio
        return put(xp.where(inside == none, zero, base + away))

    return eqx.tree_at(
        lambda f: (
            f.coefficients,
            f.base,
            f.standard_errors,
            f.state_noise,
            f.observation_noise,
            f.initial_mean,
            f.initial_noise,
            f.log_likelihood,
            f.criterion,
            f.start_criteria,
            f.states,
            f.state_covariances,
            f.filtered,
            f.predicted,
            f.path,
            f.alternative_coefficients,
        ),
        found,
        (
            coefficients(found.coefficients),
            put(xp.zeros_like(ratio) + zero),
            put(xp.asarray(found.standard_errors) / ratio),
            put(xp.asarray(found.state_noise) * s**2 / units.time),
            put(xp.asarray(found.observation_noise) * r**2),
            put(xp.asarray(found.initial_mean) * s + units.origin),
            put(xp.asarray(found.initial_noise) * s**2),
            put(xp.asarray(found.log_likelihood) - shift),
            put(xp.asarray(found.criterion) + 2 * shift),
            put(xp.asarray(found.start_criteria) + 2 * shift),
            put(xp.asarray(found.states) * s + units.origin),
            put(xp.asarray(found.state_covariances) * s[:, None] * s),
            put(xp.asarray(found.filtered) * s + units.origin),
            put(xp.asarray(found.predicted) * r + units.level),
            coefficients(found.path),
            coefficients(found.alternative_coefficients),
        ),
    )


def callback_in_user_units(units: Units, callback: Callable) -> Callable:
    """A callback that gets coefficients and likelihood in the user's units."""
    shift = float(np.sum(units.values * np.log(units.observed)))

    def tell(progress: Any) -> Any:
        inside = progress.coefficients
        user = None
        if inside is not None:
            user = np.asarray(inside) / units.coefficients + units.still
        value = progress.log_likelihood - shift
        return callback(progress._replace(coefficients=user, log_likelihood=value))

    return tell


def _numbers(tree: Any) -> Any:
    """NumPy, which compiles nothing; or JAX while a compilation is under way."""
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))
    return jnp if traced else np


def _putting(xp: Any, dtype: Any) -> Callable[[Any], Any]:
    if xp is jnp:
        return lambda values: values.astype(dtype)
    return lambda values: jax.device_put(np.asarray(values, dtype))


def _deviations(xp: Any, rows: Any) -> Any:
    """Standard deviation of each column; its size, or 1, for one that is constant."""
    there = ~xp.isnan(rows)
    count = xp.maximum(xp.sum(there, axis=0), 1)
    mean = xp.sum(xp.where(there, rows, 0), axis=0) / count
    away = xp.where(there, rows - mean, 0)
    size = xp.max(xp.abs(away), axis=0)  # squares of 1e-200 are zero
    unit = _positive(xp, size)
    found = unit * xp.sqrt(xp.sum((away / unit) ** 2, axis=0) / count)
    return _positive(xp, xp.where(size > 0, found, xp.abs(mean)))


def _positive(xp: Any, sizes: Any) -> Any:
    return xp.where((sizes > 0) & xp.isfinite(sizes), sizes, 1)


def _variances(noise: Any) -> Any:
    scale = (
        np.asarray(noise.scale) if not isinstance(noise.scale, Tracer) else noise.scale
    )
    return scale**2 if scale.ndim == 1 else (scale**2).sum(axis=1)


def _times(xp: Any, limits: Any, ratio: Any) -> Any:
    """Limits, which may be infinite, times positive numbers; zero stays zero."""
    return xp.where(limits == 0, 0, limits * ratio)
