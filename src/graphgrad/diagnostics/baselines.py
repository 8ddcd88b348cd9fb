"""Forecasts to compare with: persistence, and autoregressions chosen by AIC.

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
    """

    constant: Float[np.ndarray, "Ny"]
    weights: Float[np.ndarray, "order Ny Ny"]
    n_parameters: Int[np.ndarray, "Ny"]

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

    def forecast(self, history: Any, steps: int) -> Float[np.ndarray, "steps Ny"]:
        """Forecast after the last row of a history.

        Args:
            history: The rows so far.
            steps: Number of rows to forecast.

        Examples:
            >>> model = fit_ar(0.5 ** np.arange(30.0), most=1)
            >>> model.forecast([8.0], 3).ravel().round(6).tolist()
            [4.0, 2.0, 1.0]
        """
        rows = self._filled(_rows(history))
        for _ in range(steps):
            rows = np.concatenate([rows, self._next(rows)[None]])
        return rows[len(rows) - steps :]

    def _next(self, rows: np.ndarray) -> np.ndarray:
        """The row after; before the first row it was as in the first."""
        before = rows[np.maximum(len(rows) - 1 - np.arange(self.order), 0)]
        return self.constant + np.einsum("kij,kj->i", self.weights, before)

    def _filled(self, rows: np.ndarray) -> np.ndarray:
        """The rows with missing values predicted."""
        rows, seen = rows.copy(), ~np.isnan(rows)
        for j in range(rows.shape[1]):
            if np.isnan(rows[0, j]):  # as the first that was observed
                rows[0, j] = rows[np.argmax(seen[:, j]), j] if seen[:, j].any() else 0
        for t in np.flatnonzero(np.isnan(rows).any(axis=1)):
            rows[t] = np.where(np.isnan(rows[t]), self._next(rows[:t]), rows[t])
        return rows


def persistence(n_columns: int) -> LagModel:
    """The next row is as the last one."""
    return LagModel(
        np.zeros(n_columns), np.eye(n_columns)[None], np.zeros(n_columns, int)
    )


def fit_ar(values: Any, most: int | None = None) -> LagModel:
    """An autoregression of each column on itself, its order chosen by AIC.

    Args:
        values: Rows `(T, Ny)` one step apart, or a list of such series.
        most: Highest order; if None, 10 log10(T), at most a fifth of the rows.

    Examples:
        >>> t = np.arange(60)
        >>> model = fit_ar(np.cos(t / 5)[:, None], most=4)
        >>> model.order, model.weights.ravel().round(2).tolist()
        (2, [1.96, -1.0])
    """
    series = _series(values)
    columns = [
        _lag_model([part[:, [j]] for part in series], most)
        for j in range(series[0].shape[1])
    ]
    order, n = max(each.order for each in columns), len(columns)
    weights = np.zeros((order, n, n))
    for j, each in enumerate(columns):
        weights[: each.order, j, j] = each.weights[:, 0, 0]
    constant = np.concatenate([each.constant for each in columns])
    parameters = np.concatenate([each.n_parameters for each in columns])
    return LagModel(constant, weights, parameters)


def fit_var(values: Any, most: int | None = None) -> LagModel:
    """A vector autoregression, its order chosen by AIC; arguments as for `fit_ar`.

    Examples:
        >>> rows = np.random.default_rng(0).normal(size=(200, 2))
        >>> rows[1:, 1] += rows[:-1, 0]
        >>> model = fit_var(rows, most=3)
        >>> model.order, model.weights[0, 1, 0].round(1)
        (1, np.float64(1.0))
    """
    return _lag_model(_series(values), most)


def _lag_model(series: list[np.ndarray], most: int | None) -> LagModel:
    """The regression of the lowest AIC, over orders from none."""
    n, n_columns = sum(map(len, series)), series[0].shape[1]
    # At least five rows for each parameter of an equation.
    highest = max(0, (n // 5 - 1) // n_columns)
    wanted = int(10 * np.log10(max(n, 1))) if most is None else most
    highest = min(wanted, highest, max(map(len, series)) - 1)
    while highest > 0 and len(_regression(series, highest)[1]) <= 2 * (
        highest * n_columns + 1
    ):
        highest -= 1  # too many lags are missing
    # Orders are compared on the same rows.
    X, Y = _regression(series, highest)
    scores = []
    for order in range(highest + 1):
        k = 1 + order * n_columns
        scores.append(_aic(X[:, :k], Y))
    order = int(np.argmin(scores)) if len(Y) else 0
    X, Y = _regression(series, order)
    if not len(Y):
        return persistence(n_columns)
    B = _solved(X, Y)
    weights = B[1:].reshape(order, n_columns, n_columns).transpose(0, 2, 1)
    return LagModel(B[0], weights, np.full(n_columns, len(B)))


def _regression(series: list[np.ndarray], order: int) -> tuple[np.ndarray, np.ndarray]:
    """Regressors, a constant and then the lags, and targets; complete rows only."""
    X, Y = [], []
    for rows in series:
        if len(rows) <= order:
            continue
        lags = [rows[order - k : len(rows) - k] for k in range(1, order + 1)]
        X.append(np.concatenate([np.ones((len(rows) - order, 1)), *lags], axis=1))
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


def _aic(X: np.ndarray, Y: np.ndarray) -> float:
    """Akaike's information criterion, corrected for few rows (Hurvich and Tsai)."""
    n, k = X.shape
    residuals = Y - X @ _solved(X, Y)
    size = np.std(Y, axis=0)
    residuals = residuals / np.where(size > 0, size, 1)
    covariance = residuals.T @ residuals / max(n, 1)
    floor = 1e-14 * np.eye(Y.shape[1])  # predictions of no error at all
    _, log_size = np.linalg.slogdet(covariance + floor)
    m = k + Y.shape[1]
    return float(n * log_size + 2 * Y.shape[1] * k * n / max(n - m - 1, 0.5))


def _series(values: Any) -> list[np.ndarray]:
    """One series, or a list of them, as arrays."""
    if isinstance(values, list | tuple) and np.ndim(values[0]) == 2:
        return [_rows(part) for part in values]
    return [_rows(values)]


def _rows(values: Any) -> Float[np.ndarray, "T Ny"]:
    rows = np.asarray(values, float)
    return rows[:, None] if rows.ndim == 1 else rows
