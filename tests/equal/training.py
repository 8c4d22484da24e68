"""Training steps: gradients, clipping and optimizers over dictionaries of weights."""
from derive import gradients
from graph import elementwise, total, unary


def loss_and_gradients(loss_of, weights, batch):
    loss = loss_of(weights, *batch)
    names = list(weights)
    return loss, dict(zip(names, gradients(loss, [weights[name] for name in names])))


def global_norm(gradients_by_name):
    squares = [total(g * g) for g in gradients_by_name.values()]
    all_squares = squares[0]
    for square in squares[1:]:
        all_squares = all_squares + square
    return unary("sqrt", all_squares)


def clipped(gradients_by_name, limit):
    norm = global_norm(gradients_by_name)
    scale = elementwise("minimum", limit / (norm + 1e-6), 1.0)
    return {name: g * scale for name, g in gradients_by_name.items()}


def sgd(weight, gradient, rate):
    return weight - gradient * rate


def momentum(weight, gradient, velocity, rate):
    velocity = velocity * 0.9 + gradient
    return weight - velocity * rate, velocity


def adamw(weight, gradient, first, second, rate, decay):
    first = first * 0.9 + gradient * 0.1
    second = second * 0.95 + gradient * gradient * 0.05
    step = (first / 0.19) / (unary("sqrt", second / 0.0975) + 1e-3)
    return weight - (step + weight * decay) * rate, first, second
