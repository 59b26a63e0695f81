import PeerCrypto

/// The bytes that a text of hexadecimal digits stands for.
func bytes(hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    precondition(digits.count.isMultiple(of: 2), "a byte has two hexadecimal digits")
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

struct KeyRefused: Error {}

/// The key that belongs to a seed.
func agreementKey(seed: [UInt8]) throws -> AgreementKey {
    guard let key = AgreementKey(seed: SecretBytes(seed)) else { throw KeyRefused() }
    return key
}

func agreementKey(hex: String) throws -> AgreementKey {
    try agreementKey(seed: bytes(hex: hex))
}

func optionalAgreementKey(hex: String?) throws -> AgreementKey? {
    guard let hex else { return nil }
    return try agreementKey(hex: hex)
}

/// A key named by one byte, the same each time.
func agreementKey(_ name: UInt8) throws -> AgreementKey {
    try agreementKey(seed: [UInt8](repeating: name, count: 32))
}

/// A preshared key named by one byte, the same each time.
func presharedKey(_ name: UInt8) -> SecretBytes {
    SecretBytes([UInt8](repeating: name, count: 32))
}
