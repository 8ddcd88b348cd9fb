"""The study `real`: forecasts of real series, compared with those of other methods."""
