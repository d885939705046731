# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import splitwave


@pytest.mark.parametrize("kernel", [None, "splitwave"])
def test_it_chooses_as_auto_does(kernel):
    choices = splitwave.ScheduleChoices("llama-3-8b", kernel=kernel)
    choice = choices([8192] * 4)
    record = splitwave.simulate("llama-3-8b:4q1s8k", schedule="auto", kernel=kernel)[0]
    assert choice.schedule == record["chosen"]
    assert choice.config == record.get("kernel", "")
    assert choice.config or kernel is None
    assert 1 <= choice.sms <= 132
    assert choice.ctas_per_sm >= 1


def test_a_decode_loop_seldom_searches():
    choices = splitwave.ScheduleChoices("llama-3-8b@tp=8,page=16", gpu="h100-sxm", kernel="splitwave")
    contexts = np.array([20, 300, 4000, 9000])
    for _ in range(200):
        contexts += 1
        assert choices(contexts).tile_kv == 64
    assert 1 <= choices.searches < 10


def test_bad_input_is_a_value_error():
    choices = splitwave.ScheduleChoices("llama-3-8b")
    with pytest.raises(ValueError, match=r"context_lens\[1\]: a context of -1 tokens"):
        choices([5, -1])
    with pytest.raises(ValueError, match="machines are given; allowed: one of each"):
        splitwave.ScheduleChoices("llama-3-8b", gpu=["h200", "b200"])
    with pytest.raises(ValueError, match="unknown machine"):
        splitwave.ScheduleChoices("llama-3-8b", gpu="h20O")
    assert choices.searches == 0
