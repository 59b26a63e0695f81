/// The bytes that a text of hexadecimal digits stands for; blanks and line ends between them are left out.
func bytes(hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    precondition(digits.count.isMultiple(of: 2), "a byte has two hexadecimal digits")
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
