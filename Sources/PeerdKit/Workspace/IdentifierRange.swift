package import CRDTCore

/// The ids that begin with some digits.
package struct IdentifierRange: Hashable {
    package let first: ObjectID
    package let last: ObjectID

    package static let digitCountMin = 4

    /// Nil unless the text is four or more hexadecimal digits, with hyphens wherever.
    package init?(prefix text: String) {
        let digits = text.filter { $0 != "-" }
        guard (Self.digitCountMin...32).contains(digits.count), digits.allSatisfy(\.isASCII) else { return nil }
        func id(padding: Character) -> ObjectID? {
            ObjectID(text: digits + String(repeating: padding, count: 32 - digits.count))
        }
        guard let first = id(padding: "0"), let last = id(padding: "f") else { return nil }
        self.first = first
        self.last = last
    }
}
