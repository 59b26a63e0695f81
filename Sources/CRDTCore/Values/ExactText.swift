/// Text compared byte by byte.
///
/// Swift's strings are equal when they look alike, however they are composed (Unicode canonical equivalence). Names are
/// part of what is hashed and signed, so two names are one only if their bytes are.
package struct ExactText: Hashable, Sendable, Codable, ExpressibleByStringLiteral, CustomStringConvertible {
    package var text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package init(from decoder: any Decoder) throws {
        self.text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.text)
    }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        let isEqual = unsafe left.text.utf8.withContiguousStorageIfAvailable { left in
            unsafe right.text.utf8.withContiguousStorageIfAvailable { right in
                unsafe left.count == right.count && left.elementsEqual(right)
            }
        }
        return (isEqual ?? nil) ?? left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        // All bytes at once where they lie together, which they do unless the text came from somewhere else.
        let isDone: Void? = unsafe self.text.utf8.withContiguousStorageIfAvailable { bytes in
            unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
        }
        if isDone == nil { for byte in self.text.utf8 { hasher.combine(byte) } }
    }

    package var description: String { self.text }
}

extension ExactText: Comparable {
    /// The order of the UTF-8 bytes.
    package static func < (left: ExactText, right: ExactText) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }
}
