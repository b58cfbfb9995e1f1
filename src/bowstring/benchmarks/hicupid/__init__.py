"""HiCUPID (ACL 2025): does an assistant use a long history of dialogues for questions that do not mention it?"""
