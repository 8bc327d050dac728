"""The REST API and its OpenAPI document: parse, call one action, print."""
