"""The families whose arithmetic is small: bytes decide, so they are what is checked, by hand."""

import pytest

from tracegap.costs import FAMILIES, Call, Cost, cost, family, texts

F32 = "float32"
N = 1000


def kineto(name: str, dims: str, types: str, concrete: str = "") -> Cost | None:
    return cost(texts.kineto(name, dims, types, concrete=concrete))


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete", "flops", "size"),
    [
        # elementwise
        ("aten::add", "[[10,100],[100],[]]", '["float","float","Scalar"]', '["","","1"]', N, 4 * (N + 100 + N)),
        ("aten::add_", "[[1000],[1000],[]]", '["float","float","Scalar"]', '["","","1"]', N, 12 * N),
        ("aten::relu", "[[1000]]", '["c10::Half"]', "", N, 4 * N),
        ("aten::gt", "[[1000],[]]", '["float","Scalar"]', '["","0"]', N, 5 * N),
        ("aten::mul", "[[1000],[1000]]", '["c10::Half","float"]', "", N, 2 * N + 4 * N + 4 * N),
        ("aten::addcmul_", "[[1000],[1000],[1000],[]]", '["float","float","float","Scalar"]', "", 3 * N, 16 * N),
        ("aten::where", "[[1000],[1000],[1000]]", '["bool","float","float"]', "", N, 13 * N),
        ("aten::native_dropout", "[[1000],[],[]]", '["float","Scalar","Scalar"]', '["","0.1","True"]', 2 * N, 9 * N),
        ("aten::normal_", "[[1000],[],[],[]]", '["float","Scalar","Scalar",""]', "", N, 4 * N),
        # reduction
        (
            "aten::sum",
            "[[10,100],[],[],[]]",
            '["float","ScalarList","Scalar",""]',
            '["","[1]","False",""]',
            N,
            4 * N + 40,
        ),
        ("aten::sum", "[[10,100],[]]", '["float",""]', '["",""]', N, 4 * N + 4),
        (
            "aten::mean",
            "[[10,100],[],[],[]]",
            '["float","ScalarList","Scalar",""]',
            '["","[-1, 0]","False",""]',
            N,
            4 * N + 4,
        ),
        ("aten::argmax", "[[10,100],[],[]]", '["float","Scalar","Scalar"]', '["","1","False"]', N, 4 * N + 80),
        ("aten::max", "[[10,100],[],[]]", '["float","Scalar","Scalar"]', '["","1","False"]', N, 4 * N + 40 + 80),
        ("aten::max", "[[1000],[1000]]", '["float","float"]', '["",""]', N, 12 * N),
        ("aten::cumsum", "[[1000],[],[]]", '["float","Scalar",""]', '["","0",""]', N, 8 * N),
        ("aten::mse_loss", "[[1000],[1000],[]]", '["float","float","Scalar"]', '["","","1"]', 4 * N, 8 * N + 4),
        # softmax
        ("aten::_softmax", "[[10,100],[],[]]", '["c10::Half","Scalar","Scalar"]', '["","-1","True"]', 5 * N, 6 * N),
        (
            "aten::_softmax_backward_data",
            "[[10,100],[10,100],[],[]]",
            '["float","float","Scalar","Scalar"]',
            "",
            4 * N,
            12 * N,
        ),
        # normalisation
        (
            "aten::native_layer_norm",
            "[[10,100],[],[100],[100],[]]",
            '["float","ScalarList","float","float","Scalar"]',
            '["","[100]","","","1e-05"]',
            8 * N,
            8 * N + 800 + 80,
        ),
        (
            "aten::native_batch_norm",
            "[[2,5,10,10],[5],[5],[5],[5],[],[],[]]",
            '["float","float","float","float","float","Scalar","Scalar","Scalar"]',
            '["","","","","","False","0.1","1e-05"]',
            2 * N,
            8 * N + 80,
        ),
        # pooling
        (
            "aten::max_pool2d_with_indices",
            "[[1,10,10,10],[],[],[],[],[]]",
            '["float","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"]',
            '["","[2, 2]","[]","[0, 0]","[1, 1]","False"]',
            4 * 250,
            4 * N + 12 * 250,
        ),
        (
            "aten::max_pool2d",
            "[[1,64,111,111],[],[],[],[],[]]",
            '["float","ScalarList","ScalarList","ScalarList","ScalarList","Scalar"]',
            '["","[3, 3]","[2, 2]","[0, 0]","[1, 1]","True"]',
            9 * 64 * 55 * 55,
            4 * 64 * (111 * 111 + 55 * 55),
        ),
        ("aten::adaptive_avg_pool2d", "[[1,10,10,10],[]]", '["float","ScalarList"]', '["","[1, 1]"]', N, 4 * N + 40),
        (
            "aten::upsample_nearest2d",
            "[[1,10,10,10],[],[]]",
            '["float","","ScalarList"]',
            '["","","[2., 2.]"]',
            0,
            20 * N,
        ),
        # indexing
        ("aten::embedding", "[[10000000,64],[2,5]]", '["float","long int"]', "", 0, 80 + 2 * 4 * 640),
        ("aten::gather", "[[32,9],[],[32,2],[]]", '["double","Scalar","long","Scalar"]', "", 0, 64 * 8 * 3),
        ("aten::index_select", "[[64,32],[],[5]]", '["float","Scalar","long int"]', '["","0",""]', 0, 40 + 2 * 4 * 160),
        ("aten::scatter_add_", "[[33],[],[32],[32]]", '["long","Scalar","long","long"]', "", 32, 32 * 8 * 4),
        (
            "aten::embedding_dense_backward",
            "[[5,32],[5]]",
            '["float","long int"]',
            '["","","64","-1"]',
            160,
            640 + 40 + 8192,
        ),
        # copies
        ("aten::copy_", "[[1000],[1000],[]]", '["c10::Half","float","Scalar"]', "", 0, 6 * N),
        ("aten::_to_copy", "[[1000],[]]", '["float","Scalar"]', '["","5"]', 0, 6 * N),
        ("aten::fill_", "[[1000],[]]", '["float","Scalar"]', "", 0, 4 * N),
        ("aten::repeat", "[[1000],[]]", '["float","ScalarList"]', '["","[3]"]', 0, 16 * N),
        (
            "aten::constant_pad_nd",
            "[[10,100],[],[]]",
            '["float","ScalarList","Scalar"]',
            '["","[2, 3]","0"]',
            0,
            4 * N + 4 * 1050,
        ),
        # views
        ("aten::view", "[[10,100],[]]", '["float","ScalarList"]', '["","[1000]"]', 0, 0),
    ],
)
def test_small_operators_by_hand(name: str, dims: str, types: str, concrete: str, flops: int, size: int) -> None:
    made = kineto(name, dims, types, concrete)
    assert made is not None
    assert (made.flops, made.bytes) == (flops, size)


def test_a_step_of_fused_adam_moves_seven_values_a_parameter() -> None:
    lists = (((64, 32), (32,)),) * 4
    shapes = (*lists, (), ((), ()))
    types = ("list",) * 6
    made = cost(Call("aten::_fused_adam_", shapes, types, list_dtype=F32))
    assert made == Cost(14 * 2080, 7 * 4 * 2080, F32)
    assert cost(Call("aten::_fused_adam_", shapes, types)) == Cost(14 * 2080, None, "")


def test_functions_over_lists_read_every_list_and_write_one() -> None:
    shapes = (((64, 32), (32,)), ((64, 32), (32,)), ())
    made = cost(Call("aten::_foreach_add_", shapes, ("list", "list", ""), list_dtype="bfloat16"))
    assert made == Cost(2080, 3 * 2 * 2080, "bfloat16")


def test_a_concatenation_reads_its_parts_and_writes_the_whole() -> None:
    call = Call("aten::cat", (((64, 32), (16, 32)), ()), ("list", ""), (None, 0), list_dtype=F32)
    assert cost(call) == Cost(0, 2 * 4 * 80 * 32, F32)


def test_lists_that_old_traces_left_out_are_unknown() -> None:
    assert kineto("aten::_foreach_add_", "[[],[],[]]", '["TensorList","TensorList","Scalar"]') is None


def test_a_reduction_whose_dimensions_are_not_recorded_has_unknown_bytes() -> None:
    made = kineto("aten::mean", "[[10,100],[],[],[]]", '["float","","Scalar",""]')
    assert made == Cost(N, None, F32)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "flops", "size"),
    [
        ("ReorderInput", '[{"float":[1,64,56,56]}]', '[{"float":[1,64,56,56]}]', 0, 8 * 64 * 56 * 56),
        ("Transpose", '[{"float":[64,32,32]}]', '[{"float":[64,32,32]}]', 0, 8 * 65536),
        ("Cast", '[{"float":[64,1024]}]', '[{"float16":[64,1024]}]', 0, 6 * 65536),
        ("Reshape", '[{"float":[64,1024]},{"int64":[3]}]', '[{"float":[64,32,32]}]', 0, 0),
        ("Mul", '[{"float":[64,1024]},{"float":[]}]', '[{"float":[64,1024]}]', 65536, 8 * 65536 + 4),
        ("Gather", '[{"float":[30522,768]},{"int64":[1,128]}]', '[{"float":[1,128,768]}]', 0, 1024 + 8 * 98304),
        ("Slice", '[{"float":[1000,10]},{"int64":[1]},{"int64":[1]}]', '[{"float":[5,10]}]', 0, 400),
        ("ReduceMean", '[{"float":[64,4096]}]', '[{"float":[64,1]}]', 262144, 4 * 262144 + 256),
        ("GlobalAveragePool", '[{"float":[2,32,8,8]}]', '[{"float":[2,32,1,1]}]', 4096, 4 * 4096 + 256),
        (
            "SkipLayerNormalization",
            '[{"float":[2,48,64]},{"float":[2,48,64]},{"float":[64]},{"float":[64]}]',
            '[{"float":[2,48,64]}]',
            9 * 6144,
            4 * (3 * 6144 + 128),
        ),
        (
            "LSTM",
            '[{"float":[7,5,12]},{"float":[1,80,12]},{"float":[1,80,20]}]',
            '[{"float":[7,1,5,20]}]',
            2 * 35 * (960 + 1600),
            4 * (420 + 960 + 1600 + 700),
        ),
    ],
)
def test_small_operators_of_onnx_runtime_by_hand(name: str, inputs: str, outputs: str, flops: int, size: int) -> None:
    made = cost(texts.onnxruntime(name, inputs, outputs))
    assert made is not None
    assert (made.flops, made.bytes) == (flops, size)


@pytest.mark.parametrize("name", ["aten::lstm", "aten::gru", "aten::to", "aten::contiguous", "aten::item", "Loop", ""])
def test_operators_that_only_hand_on_have_no_model(name: str) -> None:
    assert family(name) is None
    assert cost(Call(name, ((8, 8),), (F32,))) is None


def test_every_model_says_its_formula_and_no_name_is_claimed_twice() -> None:
    seen: set[str] = set()
    for module in FAMILIES:
        assert module.__doc__
        for name, model in module.MODELS.items():
            assert model.__doc__, f"{module.__name__}: {name}"
            assert name not in seen, name
            seen.add(name)


@pytest.mark.parametrize("name", sorted(name for module in FAMILIES for name in module.MODELS))
def test_a_call_of_which_nothing_is_known_costs_nothing_known(name: str) -> None:
    for call in (Call(name), Call(name, ((),), ("",)), Call(name, ((3,),), ("",), (None,))):
        made = cost(call)
        assert made is None or (made.flops, made.bytes) == (0, 0) or made.bytes is None, made
