package import CRDTCore
internal import Persistence

extension Workspace {
    /// Returns the visible objects whose ids begin with some digits, in ascending order: up to six.
    ///
    /// None fits a text that has fewer than four hexadecimal digits, or anything else beside hyphens.
    package func objects(beginningWith text: String) async throws -> [ObjectID] {
        guard let range = IdentifierRange(prefix: text) else { return [] }
        return try await self.readingBriefly { transaction in
            var found: [ObjectID] = []
            // The first id of the range may be one itself.
            if let index = try transaction.existingObjectIndex(of: range.first),
                try transaction.object(index).isVisible
            {
                found.append(range.first)
            }
            for index in try transaction.visibleObjects(after: range.first, limit: IdentifierRange.foundCountMax) {
                let id = try transaction.object(index).id
                guard id <= range.last, found.count < IdentifierRange.foundCountMax else { break }
                found.append(id)
            }
            return found
        }
    }
}

/// The ids that begin with some digits.
package struct IdentifierRange: Hashable {
    package let first: ObjectID
    package let last: ObjectID

    package static let digitCountMin = 4
    /// One more than a message lists.
    package static let foundCountMax = 6

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
