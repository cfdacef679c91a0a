"""Text in columns."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.columns import columns, cut_inside, wrapped


class ColumnsTests(SynchronousTestCase):
    def test_wide_characters_take_two_columns_and_marks_none(self) -> None:
        """As terminals draw them."""
        self.assertEqual([columns(text) for text in ("abc", "中文", "e\u0301", "")], [3, 4, 1, 0])

    def test_lines_are_broken_at_spaces(self) -> None:
        """As late as the width lets them."""
        self.assertEqual(wrapped("one two three four", 9), ["one two", "three", "four"])
        self.assertEqual(wrapped("", 9), [""])

    def test_a_word_that_is_longer_than_a_line_is_divided(self) -> None:
        """Alone; its rest goes on with the others."""
        self.assertEqual(wrapped("a bcdefghijk l", 4), ["a", "bcde", "fghi", "jk l"])
        self.assertEqual(wrapped("中文字", 4), ["中文", "字"])

    def test_a_word_can_be_kept_whole(self) -> None:
        """It has a line of its own then."""
        self.assertEqual(wrapped("a bcdefghijk l", 4, divides=False), ["a", "bcdefghijk", "l"])

    def test_lines_behind_the_first_can_be_shorter(self) -> None:
        """As where they stand deeper; so is what is left of a word that is divided."""
        self.assertEqual(wrapped("ab cd ef gh", 8, then=5), ["ab cd ef", "gh"])
        self.assertEqual(wrapped("abcdefghi kl", 6, then=3), ["abcdef", "ghi", "kl"])

    def test_no_width_is_too_small(self) -> None:
        """A character a line, at worst."""
        self.assertEqual(wrapped("中文", 1), ["中", "文"])

    def test_a_text_is_cut_with_a_mark(self) -> None:
        """Where it is too long, and only there."""
        self.assertEqual(cut_inside("abcdef", 6), "abcdef")
        self.assertEqual(cut_inside("abcdefg", 6), "a…defg")
        self.assertEqual(cut_inside("中文字", 5), "中…字")
