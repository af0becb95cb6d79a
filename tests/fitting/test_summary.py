"""The summary: the law, its score, the decisions and the time, in words that need no code."""


def test_a_polynomial_law(linear_fit):
    text = linear_fit.summary()
    first, equation, noise, score, *rest = text.splitlines()
    assert first.split(maxsplit=1) == ["law", "drift and diffusion, no jumps, of u [mm]; step 1.2 s"]
    assert equation.strip() == linear_fit.equation.lines()[0]
    assert noise.strip() == linear_fit.equation.lines()[1]
    assert score.endswith("nats per held-out transition")
    assert str(linear_fit.score.value)[:5] in score
    whole = " ".join(text.split())
    for decision in linear_fit.decisions:
        assert f"{decision.topic} {decision.question} {decision.answer}" in whole
        assert f"rule: {decision.rule}" in whole
    assert sum(line.startswith("time ") for line in rest) == 1
    assert "lack of fit" in text
    assert str(linear_fit) == text


def test_jumps(jump_fit):
    text = jump_fit.summary()
    assert text.startswith("law           drift, diffusion and jumps of x;")
    assert "jump rate" in text
    assert "per unit time" in text


def test_trainings(network_fit):
    text = network_fit.summary()
    assert sum(line.startswith("training ") for line in text.splitlines()) == len(network_fit.history)
    whole = " ".join(text.split())
    for name, curve in network_fit.history.items():
        assert f"training {name}: {curve.steps[-1]} steps, kept" in whole
        assert f"held-out loss {curve.held_out[max(curve.best, 0)]:.4g}" in whole


def test_lines_fit_a_terminal_of_eighty_columns(linear_fit, jump_fit, network_fit):
    for result in (linear_fit, jump_fit, network_fit):
        assert max(map(len, result.summary().splitlines())) <= 80


def test_without_private_words(linear_fit, jump_fit, network_fit):
    for result in (linear_fit, jump_fit, network_fit):
        for words in ("left over", "runs away", "finite numbers", "of itself", "asks for"):
            assert words not in result.summary()
