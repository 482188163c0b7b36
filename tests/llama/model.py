"""Writes a tiny language model that llama.cpp serves as it does any other. Whatever it is told, it says `All is well.`,
or calls a tool where the template ends the prompt with `;`.

python model.py OUT TEXT...    the most frequent words of the texts are its vocabulary

It is a Mamba of one layer, which reads a long prompt in little time, and that layer adds nothing: what it says next
depends on the last token alone.
"""

import collections
import re
import sys

import gguf
import numpy as np

WIDTH, STATE, RANK, KERNEL = 16, 2, 1, 2
WORDS, CONTEXT = 2_000, 131_072
SPECIAL = ["<unk>", "<s>", "</s>"]
# What it says after the last token of a prompt.
SAYS = [":", "▁All", "▁is", "▁well", ".", "</s>"]
# What it says after another last token: a call, which is one token of its own, and then what comes after a full stop.
CALLS = [";", '<tool_call>\n{"name":▁"list_dir",▁"arguments":▁{"path":▁"."}}\n</tool_call>']
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def vocabulary(texts):
    """Bytes, characters, and every beginning of the most frequent words: a word is joined letter by letter."""
    Kind = gguf.TokenType
    tokens = [(text, 0.0, Kind.UNKNOWN if text == "<unk>" else Kind.CONTROL) for text in SPECIAL]
    tokens += [(f"<0x{byte:02X}>", 0.0, Kind.BYTE) for byte in range(256)]
    tokens += [(chr(code), -1e6, Kind.NORMAL) for code in range(33, 127)] + [("▁", -1e6, Kind.NORMAL)]
    counts = collections.Counter(re.findall(r"[A-Za-z_]{2,}", " ".join(texts)))
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:WORDS]]
    words += [piece[1:] for piece in SAYS if piece.startswith("▁")]
    pieces = {"▁" + word[:end] for word in words for end in range(1, len(word) + 1)}
    tokens += [(piece, -float(len(piece)), Kind.NORMAL) for piece in sorted(pieces)]
    tokens.append((CALLS[-1], -1e6, Kind.NORMAL))
    return tokens


def main(out, texts):
    tokens = vocabulary([open(text, encoding="utf-8").read() for text in texts])
    number = {text: at for at, (text, _, _) in enumerate(tokens)}
    writer = gguf.GGUFWriter(out, "mamba")
    writer.add_name("all-is-well")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_ssm_conv_kernel(KERNEL)
    writer.add_ssm_inner_size(2 * WIDTH)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(RANK)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    random = np.random.default_rng(7)

    def tensor(name, values):
        writer.add_tensor(name, np.asarray(values, dtype=np.float32))

    told = random.standard_normal((len(tokens), WIDTH))
    said = random.standard_normal((len(tokens), WIDTH)) / 100
    told[number[CALLS[-1]]] = told[number["."]]
    for before, after in [*zip(SAYS, SAYS[1:]), *zip(CALLS, CALLS[1:])]:
        said[number[after]] = 20 * told[number[before]] / np.linalg.norm(told[number[before]])
    tensor("token_embd.weight", told)
    tensor("output.weight", said)
    tensor("output_norm.weight", np.ones(WIDTH))
    inner = 2 * WIDTH
    tensor("blk.0.attn_norm.weight", np.ones(WIDTH))
    tensor("blk.0.ssm_in.weight", random.standard_normal((2 * inner, WIDTH)) / WIDTH)
    tensor("blk.0.ssm_conv1d.weight", random.standard_normal((inner, KERNEL)))
    tensor("blk.0.ssm_conv1d.bias", np.zeros(inner))
    tensor("blk.0.ssm_x.weight", random.standard_normal((RANK + 2 * STATE, inner)) / inner)
    tensor("blk.0.ssm_dt.weight", random.standard_normal((inner, RANK)))
    tensor("blk.0.ssm_dt.bias", np.zeros(inner))
    tensor("blk.0.ssm_a", -np.ones((inner, STATE)))
    tensor("blk.0.ssm_d", np.ones(inner))
    tensor("blk.0.ssm_out.weight", np.zeros((WIDTH, inner)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
