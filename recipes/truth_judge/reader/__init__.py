"""A reader of answers that is trained. The truth judge does not use it yet: see ../README.md."""
