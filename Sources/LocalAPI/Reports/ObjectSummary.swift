package import CRDTCore
package import PeerdKit

/// What lists and trees say of an object.
package struct ObjectSummary: Answer {
    package var id: String
    package var type: String
    package var kind: String
    /// What names it to people.
    package var name: String?
    package var childCount: Int

    /// Properties that name an object to people, the first that is there counting.
    private static let nameProperties = ["name", "title"]

    /// Reads an object of the store.
    package init(of object: ObjectIndex, in transaction: inout some StateReading) throws(StoreError) {
        let record = try transaction.object(object)
        self.id = record.id.description
        self.childCount = try transaction.visibleChildCount(of: object)
        (self.type, self.kind) = ("", "")
        if let creation = record.creation {
            self.type = try transaction.name(creation.type)
            self.kind = try transaction.name(creation.kind)
        }
        for property in Self.nameProperties {
            guard let value = try transaction.property(property, of: object), value != .null else { continue }
            self.name = PlainText.of(value)
            break
        }
    }

    /// The same of an object that was read before.
    package init(_ object: Object) {
        self.id = object.id.description
        (self.type, self.kind) = (object.type, object.kind)
        self.childCount = object.childCount
        self.name = Self.nameProperties.lazy.compactMap { object.properties[$0] }.first { $0 != .null }
            .map(PlainText.of)
    }

    /// The same of an object of a snapshot.
    package init(_ element: SnapshotContent.Element) {
        self.id = element.id.description
        (self.type, self.kind) = (element.type, element.kind)
        self.childCount = 0
        let values = Self.nameProperties.lazy.compactMap { element.properties[ExactText($0)] }
        self.name = values.first { $0 != .null }.map { PlainText.of(Value($0)) }
    }
}
