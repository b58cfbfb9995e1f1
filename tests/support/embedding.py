"""A small random model with contriever's architecture: BERT with absolute positions, no pooling files."""

from pathlib import Path

from bowstring.benchmarks.loading import load_hicupid
from bowstring.history.bm25 import words


def write_contriever(folder: Path) -> Path:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast, set_seed

    mini = load_hicupid("mini")
    said = " ".join(m.text for user in mini.user_ids for d in mini.history(user) for m in d.messages)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: n for n, word in enumerate([*special, *sorted(set(words(said)))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    # As upstream runs it: padded on the left.
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **names).save_pretrained(folder)
    set_seed(3)
    small = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
    )
    BertModel(small).save_pretrained(folder)
    return folder
