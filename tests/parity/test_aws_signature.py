"""Bedrock signatures match botocore's for the same request at the same time."""

import datetime

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from bowstring.models.bedrock import Credentials, sign


@pytest.mark.parametrize("token", [None, "session/token+="])
@pytest.mark.parametrize("model", ["meta.llama3%3A0", "plain"])
@pytest.mark.parametrize("body", [b"{}", '{"text": "naïve 日本語"}'.encode()])
def test_signatures_equal_botocores(token, model, body):
    url = f"https://bedrock-runtime.eu-west-1.amazonaws.com/model/{model}/converse"
    reference = AWSRequest("POST", url, data=body, headers={"Content-Type": "application/json"})
    SigV4Auth(BotoCredentials("AKID", "secret/key", token), "bedrock", "eu-west-1").add_auth(reference)
    moment = datetime.datetime.strptime(reference.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.UTC)
    ours = sign(url, body, Credentials("eu-west-1", None, "AKID", "secret/key", token), moment)
    assert ours["Authorization"] == reference.headers["Authorization"]
