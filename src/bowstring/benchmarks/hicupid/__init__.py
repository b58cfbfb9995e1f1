"""HiCUPID (ACL 2025): does an assistant use what it learned in months of dialogues when a question does not name it?"""
