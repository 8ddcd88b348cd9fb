"""Forecasts to compare and to average with: persistence, autoregressions by AIC.

NumPy only. NaN means not observed: rows with a missing lag are left out of a fit, and
missing values of a history are replaced by their predictions. The rows of a series must
be one step apart; with uneven intervals only persistence makes sense.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int


class LagModel(NamedTuple):
    """Linear predictions of a row from the rows before.

    Attributes:
        constant: Constant of each column.
        weights: `weights[k, i, j]` is the weight of column j, k + 1 rows before, in the
            prediction of column i.
        n_parameters: Number of parameters of each column that were estimated.
        drive: Weights of the inputs of a row in its prediction; empty without inputs.
    """

    constant: Float[np.ndarray, "Ny"]
    weights: Float[np.ndarray, "order Ny Ny"]
    n_parameters: Int[np.ndarray, "Ny"]
    drive: Float[np.ndarray, "Ny Nu"] = np.zeros((0, 0))

    @property
    def order(self) -> int:
        """Number of rows before that are used."""
        return len(self.weights)

    def one_step(self, values: Any) -> Float[np.ndarray, "T Ny"]:
        """Prediction of each row from the rows before; NaN where one is missing.

        Examples:
            >>> persistence(1).one_step([[1.0], [3.0], [2.0]]).ravel().tolist()
            [nan, 1.0, 3.0]
        """
        rows = _rows(values)
        found = np.tile(self.constant, (len(rows), 1))
        for lag, matrix in enumerate(self.weights, start=1):
            before = np.full_like(rows, np.nan)
            before[lag:] = rows[:-lag]
            # A missing value counts only where it has a weight.
            for i, j in np.argwhere(matrix):
                found[:, i] += matrix[i, j] * before[:, j]
        return found

    def forecasts(
        self, values: Any, origins: Any, steps: int, inputs: Any = None
    ) -> Float[np.ndarray, "origins steps Ny"]:
        """Forecasts from several rows of a series.

        Args:
            values: The rows.
            origins: Number of rows before each forecast.
            steps: Number of rows of each.
            inputs: Inputs of the rows, and of those that are forecast, if the model
                has any.

        Examples:
            >>> model = fit_ar(0.5 ** np.arange(30.0), most=1)
            >>> model.forecasts([8.0], [1], 3).ravel().round(6).tolist()
            [4.0, 2.0, 1.0]
        """
        rows, origins = self._filled(_rows(values), inputs), np.asarray(origins)
        # Before the first row it was as in the first.
        before = np.maximum(origins[:, None] - self.order + np.arange(self.order), 0)
        past = rows[before]
        for step in range(steps):
            following = self._next(past[:, step:], inputs, origins + step)
            past = np.concatenate([past, following[:, None]], axis=1)
        return past[:, self.order :]

    def _next(
        self, past: np.ndarray, inputs: Any, rows: np.ndarray
    ) -> Float[np.ndarray, "origins Ny"]:
        """Predictions of rows from those before, the last of `past`."""
        latest = past[:, past.shape[1] - self.order :][:, ::-1]
        found = self.constant + np.einsum("kij,okj->oi", self.weights, latest)
        if self.drive.size:
            found = found + np.asarray(inputs)[rows] @ self.drive.T
        return found

    def _filled(self, rows: np.ndarray, inputs: Any) -> np.ndarray:
        """The rows with missing values predicted."""
        rows, seen = rows.copy(), ~np.isnan(rows)
        for j in range(rows.shape[1]):
            if np.isnan(rows[0, j]):  # as the first that was observed
                rows[0, j] = rows[np.argmax(seen[:, j]), j] if seen[:, j].any() else 0
        for t in np.flatnonzero(np.isnan(rows).any(axis=1)):
            past = rows[np.maximum(t - self.order + np.arange(self.order), 0)]
            found = self._next(past[None], inputs, np.array([t]))[0]
            rows[t] = np.where(np.isnan(rows[t]), found, rows[t])
        return rows

    @property
    def summed(self) -> "LagModel":
        """The model of rows whose changes from row to row follow this model.

        Examples:
            >>> persistence(1).summed.forecasts([1.0, 3.0], [2], 3).ravel().tolist()
            [5.0, 7.0, 9.0]
        """
        one = np.eye(len(self.constant))[None]
        nothing = np.zeros_like(one)
        now = np.concatenate([self.weights, nothing])
        before = np.concatenate([-one, self.weights])
        return self._replace(weights=now - before)


def persistence(n_columns: int) -> LagModel:
    """The next row is as the last one."""
    return LagModel(
        np.zeros(n_columns), np.eye(n_columns)[None], np.zeros(n_columns, int)
    )


def fit_ar(values: Any, most: int | None = None, inputs: Any = None) -> LagModel:
    """An autoregression of each column on itself, its order chosen by AIC.

    Args:
        values: Rows `(T, Ny)` one step apart, or a list of such series.
        most: Highest order; if None, 10 log10(T), at most a fifth of the rows.
        inputs: Inputs `(T, Nu)` of the rows, which act on the same row, or a list.

    Examples:
        >>> t = np.arange(60)
        >>> model = fit_ar(np.cos(t / 5)[:, None], most=4)
        >>> model.order, model.weights.ravel().round(2).tolist()
        (2, [1.96, -1.0])
    """
    series = _series(values)
    columns = [
        fit_var([part[:, [j]] for part in series], most, inputs)
        for j in range(series[0].shape[1])
    ]
    order, n = max(each.order for each in columns), len(columns)
    weights = np.zeros((order, n, n))
    for j, each in enumerate(columns):
        weights[: each.order, j, j] = each.weights[:, 0, 0]
    constant = np.concatenate([each.constant for each in columns])
    parameters = np.concatenate([each.n_parameters for each in columns])
    drive = np.concatenate([each.drive for each in columns])
    return LagModel(constant, weights, parameters, drive)


def fit_var(values: Any, most: int | None = None, inputs: Any = None) -> LagModel:
    """A vector autoregression, its order chosen by AIC; arguments as for `fit_ar`.

    Examples:
        >>> rows = np.random.default_rng(0).normal(size=(200, 2))
        >>> rows[1:, 1] += rows[:-1, 0]
        >>> model = fit_var(rows, most=3)
        >>> model.order, model.weights[0, 1, 0].round(1)
        (1, np.float64(1.0))
    """
    series = _series(values)
    driving = [np.zeros((len(part), 0)) for part in series]
    if inputs is not None:
        driving = _series(inputs)
    n, n_columns = sum(map(len, series)), series[0].shape[1]
    # At least five rows for each parameter of an equation.
    highest = max(0, (n // 5 - 1 - driving[0].shape[1]) // n_columns)
    wanted = int(10 * np.log10(max(n, 1))) if most is None else most
    highest = min(wanted, highest, max(map(len, series)) - 1)
    while highest > 0:
        X, Y = _regression(series, driving, highest)
        if len(Y) > 2 * X.shape[1]:
            break
        highest -= 1  # too many lags are missing
    # Orders are compared on the same rows.
    X, Y = _regression(series, driving, highest)
    sizes = X.shape[1] - n_columns * np.arange(highest, -1, -1)
    scores = _aic(X, Y, sizes)
    order = int(np.argmin(scores)) if len(Y) else 0
    X, Y = _regression(series, driving, order)
    if not len(Y):
        return persistence(n_columns)
    constant, *others = np.split(_solved(X, Y), [1, 1 + driving[0].shape[1]])
    drive, lags = others
    weights = lags.reshape(order, n_columns, n_columns).transpose(0, 2, 1)
    return LagModel(constant[0], weights, np.full(n_columns, X.shape[1]), drive.T)


def _regression(
    series: list[np.ndarray], driving: list[np.ndarray], order: int
) -> tuple[np.ndarray, np.ndarray]:
    """Regressors and targets, of complete rows only.

    The regressors are a constant, the inputs, and then the lags.
    """
    X, Y = [], []
    for rows, inputs in zip(series, driving, strict=True):
        if len(rows) <= order:
            continue
        lags = [rows[order - k : len(rows) - k] for k in range(1, order + 1)]
        ones = np.ones((len(rows) - order, 1))
        X.append(np.concatenate([ones, inputs[order:], *lags], axis=1))
        Y.append(rows[order:])
    if not X:
        return np.ones((0, 1)), np.ones((0, series[0].shape[1]))
    whole_X, whole_Y = np.concatenate(X), np.concatenate(Y)
    complete = ~np.isnan(whole_X).any(axis=1) & ~np.isnan(whole_Y).any(axis=1)
    return whole_X[complete], whole_Y[complete]


def _solved(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Least squares; columns of any scale."""
    size = np.sqrt(np.mean(X**2, axis=0))
    size = np.where(size > 0, size, 1)
    return np.linalg.lstsq(X / size, Y, rcond=None)[0] / size[:, None]


def _aic(
    X: np.ndarray, Y: np.ndarray, sizes: Int[np.ndarray, "models"]
) -> Float[np.ndarray, "models"]:
    """Akaike's information criterion, corrected for few rows (Hurvich and Tsai).

    Of regressions on the first columns of X, as many as each size says.
    """
    (n, most), m = X.shape, Y.shape[1]
    deviations = np.std(Y, axis=0)
    both = np.concatenate([X, Y / np.where(deviations > 0, deviations, 1)], axis=1)
    lengths = np.sqrt(np.sum(X**2, axis=0))
    both[:, :most] /= np.where(lengths > 0, lengths, 1)
    # One factorisation has the residuals of all of them.
    left = np.asarray(np.linalg.qr(both, mode="r"))[:, most:]
    floor = 1e-14 * np.eye(m)  # predictions of no error at all
    scores = []
    for k in sizes.tolist():
        covariance = left[k:].T @ left[k:] / max(n, 1)
        _, log_size = np.linalg.slogdet(covariance + floor)
        scores.append(n * log_size + 2 * m * k * n / max(n - k - m - 1, 0.5))
    return np.array(scores)


def _series(values: Any) -> list[np.ndarray]:
    """One series, or a list of them, as arrays."""
    if isinstance(values, list | tuple) and np.ndim(values[0]) == 2:
        return [_rows(part) for part in values]
    return [_rows(values)]


def _rows(values: Any) -> Float[np.ndarray, "T Ny"]:
    rows = np.asarray(values, float)
    return rows[:, None] if rows.ndim == 1 else rows
