/// Text compared byte by byte.
///
/// Strings are equal in Swift when they look alike, however they are composed; names are part of what is hashed and
/// signed, so theirs must be the same bytes.
struct ExactText: Hashable {
    let text: String

    static func == (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        for byte in self.text.utf8 { hasher.combine(byte) }
    }
}
