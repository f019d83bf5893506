"""Element types: their names in traces, their sizes, and what a kernel's name gives away of them.

One word a type everywhere in `tracegap.costs`: ``float32``, ``bfloat16``, ``int8`` …; "" is no tensor or not known, `LIST`
is a list of tensors, whose element type Kineto does not write.
"""

import re
from collections.abc import Iterable

LIST = "list"

SIZES: dict[str, int] = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8": 1,
    "complex128": 16,
    "complex64": 8,
    "complex32": 4,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint64": 8,
    "uint32": 4,
    "uint16": 2,
    "uint8": 1,
    "bool": 1,
}
"""Bytes an element."""

# Kineto writes `caffe2::TypeMeta` names, which are C++ types as the compiler spells them ("long int" on Linux, "__int64"
# on Windows); ONNX Runtime writes the names of onnx.TensorProto.DataType; NCCL rows carry c10::ScalarType names.
_NAMES: dict[str, str] = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "c10::complex<double>": "complex128",
    "c10::complex<float>": "complex64",
    "c10::complex<c10::Half>": "complex32",
    "complexdouble": "complex128",
    "complexfloat": "complex64",
    "long": "int64",
    "long int": "int64",
    "long long": "int64",
    "__int64": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "char": "int8",
    "unsigned char": "uint8",
    "byte": "uint8",
    "unsigned short": "uint16",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "c10::qint8": "int8",
    "c10::quint8": "uint8",
    "c10::qint32": "int32",
    "TensorList": LIST,
}

# Tags of IValue in traces of 2020–21, which are plain numbers there: "Int" is an argument, "int" a tensor of int32.
_NOT_TENSORS = frozenset(
    {"", "Scalar", "ScalarList", "GenericList", "Int", "Double", "Bool", "String", "Device", "None"}
)

# c10/core/ScalarType.h: the codes that `dtype` arguments have in Concrete Inputs.
_CODES: dict[int, str] = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    8: "complex32",
    9: "complex64",
    10: "complex128",
    11: "bool",
    12: "int8",
    13: "uint8",
    14: "int32",
    15: "bfloat16",
    23: "float8",
    24: "float8",
    25: "float8",
    26: "float8",
}

_IN_KERNEL = (
    ("bfloat16", re.compile(r"BFloat16|bf16", re.IGNORECASE)),
    ("float16", re.compile(r"\bHalf\b|__half|\bfp16\b|_f16", re.IGNORECASE)),
    ("float64", re.compile(r"\bdouble\b")),
    ("float32", re.compile(r"\bfloat\b|OpaqueType<4u>")),
    ("float16", re.compile(r"OpaqueType<2u>")),
    ("float64", re.compile(r"OpaqueType<8u>")),
    ("int8", re.compile(r"OpaqueType<1u>")),
)
# Names of matrix kernels (cuBLAS, cuDNN, CUTLASS, hipBLASLt): the type in words, or NVIDIA's tensor-core instruction, whose
# first letter is that of the accumulator: m16n8k8 on TF32, m16n8k16 and m8n8k4 on halves. nvjet's first letter is A's type.
_MATRIX = (
    ("tf32", re.compile(r"tf32|xf32|s1688(?!\d)", re.IGNORECASE)),
    ("bfloat16", re.compile(r"gemm.*bf16|bf16.*gemm|xmma.*bf16|nvjet_t", re.IGNORECASE)),
    ("float16", re.compile(r"fp16.*gemm|gemm.*fp16|xmma.*f16f16|[hs]16816|[hs]884|hgemm|nvjet_h", re.IGNORECASE)),
)


def of_text(text: str) -> str:
    """Return the word for a type as a trace spells it; "" where it names no tensor or is not known.

    Examples
    --------
    >>> [of_text(name) for name in ("c10::BFloat16", "long int", "Scalar", "TensorList", "float16", "Float")]
    ['bfloat16', 'int64', '', 'list', 'float16', 'float32']
    """
    if text in _NOT_TENSORS:
        return ""
    if text in _NAMES:
        return _NAMES[text]
    lower = text.lower()
    if "float8" in lower:
        return "float8"
    return lower if lower in SIZES else _NAMES.get(lower, "")


def of_code(code: object) -> str:
    """Return the word for a `dtype` argument: the number of a ``c10::ScalarType``."""
    return _CODES.get(code, "") if isinstance(code, int) and not isinstance(code, bool) else ""


def of_kernels(names: Iterable[str]) -> str:
    """Return the element type, or one of the same size, that the kernels of an operator on lists work on; "" if not told.

    Examples
    --------
    >>> of_kernels(["void at::native::CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 3, 64, 64>"])
    'float32'
    """
    for name in names:
        for dtype, pattern in _IN_KERNEL:
            if pattern.search(name):
                return dtype
    return ""


def on_kernels(dtype: str, names: Iterable[str]) -> str:
    """Return the type whose peak counts, where kernels say that float32 operands were multiplied as something narrower.

    That is ``tf32`` on tensor cores, and a half under autocast, which casts inside the operator.

    Examples
    --------
    >>> on_kernels("float32", ["cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4"])
    'tf32'
    >>> on_kernels("float32", ["ampere_fp16_s16816gemm_fp16_128x256_ldg8_relu_f2f_stages_64x3_tn"])
    'float16'
    >>> on_kernels("float32", ["ampere_sgemm_128x64_nn"])
    'float32'
    """
    if dtype == "float32":
        for name in names:
            for narrower, pattern in _MATRIX:
                if pattern.search(name):
                    return narrower
    return dtype


def widest(dtypes: Iterable[str]) -> str:
    """Return the type that arithmetic on these gives: floating over whole numbers, then the larger size; "" of none.

    Examples
    --------
    >>> widest(["int64", "float16"]), widest(["bfloat16", "float32"]), widest([])
    ('float16', 'float32', '')
    """
    known = [dtype for dtype in dtypes if dtype in SIZES]
    return max(known, key=lambda dtype: (_rank(dtype), SIZES[dtype]), default="")


def _rank(dtype: str) -> int:
    if dtype == "bool":
        return 0
    return 3 if dtype.startswith("complex") else 2 if "float" in dtype else 1
