#!/usr/bin/env python3
"""Fits the polynomials of runtime/math/*.def by Remez' exchange (needs mpmath).

Every fit is minimax under a weight: it minimizes max |weight(x) (p(x) - f(x))|. The coefficients are
printed lowest power first, rounded to the type; the leading terms of each function are not among
them (they are exact: 1 + r of exp, x of erf), so rounding costs less than the last bit.
Run it to see where the numbers come from, or to try another degree:  fit_polynomials.py [name ...]
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve, exp, log, erf, erfc, sqrt, pi, sin, cos, atanh, tanh, cos as mcos

mp.prec = 200


def remez(function, weight, powers, low, high, rounds=12):
    """Coefficients c of sum c[i] x^powers[i], and the largest weighted error."""
    count = len(powers)
    points = [(low + high) / 2 - (high - low) / 2 * mcos(pi * i / count) for i in range(count + 1)]
    points[0], points[-1] = points[0] + (high - low) * mpf(10) ** -9, points[-1]
    for _ in range(rounds):
        system = matrix(count + 1, count + 1)
        right = matrix(count + 1, 1)
        for row, x in enumerate(points):
            for column, power in enumerate(powers):
                system[row, column] = x ** power
            system[row, count] = (-1) ** row / max(weight(x), mpf(10) ** -9)  # a weight may vanish at 0
            right[row] = function(x)
        solution = lu_solve(system, right)
        coefficients = [solution[i] for i in range(count)]

        def error(x):
            return weight(x) * (sum(c * x ** p for c, p in zip(coefficients, powers)) - function(x))

        grid = 40 * count
        samples = [(low + high) / 2 - (high - low) / 2 * mcos(pi * (i + mpf(1) / 2) / grid) for i in range(grid)]
        errors = [error(x) for x in samples]
        extrema, run = [], 0
        for i in range(1, grid + 1):
            if i == grid or (errors[i] > 0) != (errors[run] > 0):
                extrema.append(max(range(run, i), key=lambda j: abs(errors[j])))
                run = i
        if len(extrema) < count + 1:
            break
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        points = [samples[i] for i in extrema]
    return coefficients, max(abs(e) for e in errors)


def rounded(value, bits):
    """The nearest number of that many significant bits."""
    with mp.workprec(bits):
        return +value


def fit(name, function, weight, powers, low, high, bits):
    low, high = mpf(low), mpf(high)
    coefficients, ideal = remez(function, weight, powers, low, high)
    coefficients = [rounded(c, bits) for c in coefficients]
    grid = [low + (high - low) * (mpf(i) + mpf(1) / 2) / 2000 for i in range(2000)]
    worst = max(abs(weight(x) * (sum(c * x ** p for c, p in zip(coefficients, powers)) - function(x))) for x in grid)
    print(f"{name}: weighted error {mp.nstr(worst, 3)} (before rounding {mp.nstr(ideal, 3)})")
    for c, p in zip(coefficients, powers):
        print(f"    x^{p:<2} {float(c).hex()}   {mp.nstr(c, 12)}")


def series(function, order):
    """function(x) near 0 loses digits; more precision there costs nothing."""
    def evaluate(x):
        with mp.workprec(500):
            return function(x) if x != 0 else mpf(order)
    return evaluate


half_log2 = log(mpf(2)) / 2 * mpf("1.0001")
s_high = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
one = lambda x: mpf(1)
erf_slope = 2 / sqrt(pi)

FITS = {
    # exp(r) = 1 + r + r^2 q(r)
    "exp_f32": (series(lambda r: (exp(r) - 1 - r) / r ** 2, 0.5), lambda r: r * r, range(5), -half_log2, half_log2, 24),
    "exp_f64": (series(lambda r: (exp(r) - 1 - r) / r ** 2, 0.5), lambda r: r * r, range(11), -half_log2, half_log2, 53),
    # log((1+s)/(1-s)) = 2s + s * s^2 q(s^2)
    "log_f32": (series(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf(2) / 3), lambda z: z, range(3), 0, s_high ** 2, 24),
    "log_f64": (series(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf(2) / 3), lambda z: z, range(7), 0, s_high ** 2, 53),
    # tanh(x) = x + x z q(z), z = x^2, below the seam
    "tanh_f32": (series(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3), lambda z: z, range(6), 0, mpf("0.56") ** 2, 24),
    "tanh_f64": (series(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3), lambda z: z, range(12), 0, mpf("0.56") ** 2, 53),
    # erf(x) = x + x q(x^2) below the seam
    "erf_small_f32": (series(lambda z: erf(sqrt(z)) / sqrt(z) - 1, erf_slope - 1), one, range(6), 0, mpf("0.93") ** 2, 24),
    "erf_small_f64": (series(lambda z: erf(sqrt(z)) / sqrt(z) - 1, erf_slope - 1), one, range(12), 0, 1, 53),
    # erf(x) = 1 - exp(-x q(x)) above it; not centred, so that the terms are small at the seam, where their rounding shows
    "erf_large_f32": (lambda x: -log(erfc(x)) / x, lambda x: x * erfc(x), range(9), mpf("0.92"), 4, 24),
    "erf_large_f64": (lambda x: -log(erfc(x)) / x, lambda x: x * erfc(x), range(25), mpf("0.99"), 6, 53),
    # sin(r) = r + r z q(z), cos(r) = 1 - z/2 + z^2 q(z), z = r^2
    "sin_f64": (series(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6), lambda z: z, range(6), 0, (pi / 4 * mpf("1.0001")) ** 2, 53),
    "cos_f64": (series(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2, mpf(1) / 24), lambda z: z * z, range(6), 0, (pi / 4 * mpf("1.0001")) ** 2, 53),
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FITS:
        function, weight, powers, low, high, bits = FITS[name]
        fit(name, function, weight, list(powers), low, high, bits)
