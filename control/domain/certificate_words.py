"""What is wrong with an uploaded certificate or key, in words that tell what to bring instead."""

from __future__ import annotations

from typing import Final

from control.domain.codes import FieldCode
from control.domain.language import Sentence

CERTIFICATE_FIELDS: Final[dict[FieldCode, Sentence]] = {
    FieldCode.DOMAIN_FORM: Sentence(
        "不是有效的域名，例如 lab.example.com（不支持通配符和 IP 地址）。",
        "This is not a domain like lab.example.com; wildcards and addresses are not taken.",
    ),
    FieldCode.DOMAIN_OURS: Sentence(
        "这是平台自己的域名，不能用作自定义域名。", "This name is the platform's own; use a domain of yours."
    ),
    FieldCode.DOMAIN_TAKEN: Sentence("该域名已被另一个访问入口使用。", "This domain is used by another entry."),
    FieldCode.HTTPS_ONLY: Sentence(
        "只有 https 访问入口可以使用自定义域名。", "Only an https entry can have a domain of its own."
    ),
    FieldCode.ACME_OFF: Sentence(
        "平台没有启用自动签发证书，请上传证书，或请管理员设置 STARLIGHT_ACME_DIRECTORY。",
        "Certificates are not issued by themselves here: bring one, or have the administrator set "
        "STARLIGHT_ACME_DIRECTORY.",
    ),
    FieldCode.ACME_NOT_YOURS: Sentence(
        "该域名曾由他人证明归属。请改用 dns-01 验证，或先添加归属证明的 TXT 记录，或请管理员确认。",
        "Somebody else proved this domain to be theirs before: use dns-01, or set the TXT record that proves it, or "
        "ask an administrator.",
    ),
    FieldCode.PAIR_NOT_PEM: Sentence(
        "不是 PEM 格式的证书（应以 -----BEGIN CERTIFICATE----- 开头，最多 10 个，256 KB）。",
        "This is no PEM certificate: it begins with -----BEGIN CERTIFICATE-----, at most 10 of them and 256 KB.",
    ),
    FieldCode.PAIR_KEY_NOT_PEM: Sentence(
        "不是 PEM 格式的私钥（应以 -----BEGIN PRIVATE KEY----- 之类开头）。",
        "This is no PEM private key: it begins with -----BEGIN PRIVATE KEY----- or the like.",
    ),
    FieldCode.PAIR_KEY_LOCKED: Sentence("私钥已加密，请填写密码。", "The private key is locked: give its password."),
    FieldCode.PAIR_KEY_PASSWORD: Sentence(
        "私钥密码不正确，或私钥没有加密。", "The password does not open the private key, or the key has none."
    ),
    FieldCode.PAIR_KEY_WEAK: Sentence(
        "私钥类型或长度不安全：请使用 RSA 2048 位以上或 ECDSA P-256 以上。",
        "The key is too weak or of a kind that serves no TLS: take RSA with 2048 bits or ECDSA P-256 or more.",
    ),
    FieldCode.PAIR_KEY_FOREIGN: Sentence("私钥与证书不匹配。", "The private key does not belong to this certificate."),
    FieldCode.PAIR_CHAIN_BROKEN: Sentence("证书链无法衔接。", "The certificates of the chain do not sign each other."),
    FieldCode.PAIR_CHAIN_INCOMPLETE: Sentence(
        "证书链不完整：缺少签发者“{detail}”的证书，请上传完整链（fullchain）。",
        "The chain is incomplete: the certificate of its issuer, {detail}, is missing. Upload the full chain.",
    ),
    FieldCode.PAIR_SIGNATURE_WEAK: Sentence(
        "证书使用了不安全的签名算法 {detail}，请重新签发。",
        "The certificate is signed with {detail}, which is not safe any more: have it issued anew.",
    ),
    FieldCode.PAIR_NOT_SERVER: Sentence(
        "这不是服务器证书（扩展密钥用途不含服务器验证）。",
        "This certificate is not for servers (its extended key usage says so).",
    ),
    FieldCode.PAIR_NO_NAMES: Sentence(
        "证书没有包含任何域名（subjectAltName）。", "The certificate holds no DNS name (subjectAltName)."
    ),
    FieldCode.PAIR_NAME_MISSING: Sentence("证书不包含域名 {domain}。", "The certificate is not for {domain}."),
    FieldCode.PAIR_NOT_YET: Sentence(
        "证书尚未生效，{detail} 起有效。", "The certificate is not valid yet; it counts from {detail}."
    ),
    FieldCode.PAIR_EXPIRED: Sentence("证书已于 {detail} 过期。", "The certificate ended on {detail}."),
}
