package import CRDTCore
public import Foundation
package import Persistence

/// An object as it was at one moment.
public struct Object: Identifiable, Hashable, Sendable, Codable {
    /// Names it on all machines.
    public let id: ObjectID
    /// What it is, as whoever made it said.
    public let type: String
    /// What kind of its type it is; empty if nobody said.
    public let kind: String
    /// What it stands under; nil at the root.
    public let parent: ObjectID?
    /// How many objects stand under it.
    public let childCount: Int
    /// When it was made, by the clock of whoever made it; nil if its creation is not here yet.
    public let createdAt: Date?
    /// The name of the machine that made it; nil if its creation is not here yet.
    public let createdBy: String?
    /// When anything of it was last written.
    public let updatedAt: Date
    /// All values, by name.
    public let properties: [String: Value]

    /// The value of a property; nil if there is none.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value is of another type.
    public subscript<Content>(_ property: Property<Content>) -> Content? {
        get throws { try self.properties[property.name].map { try property.content(of: $0) } }
    }
}

extension Object {
    package init(_ index: ObjectIndex, in transaction: inout SQLiteTransaction) throws(StoreError) {
        let record = try transaction.object(index)
        self.id = record.id
        self.type = try record.creation.map { creation throws(StoreError) in try transaction.name(creation.type) } ?? ""
        self.kind = try record.creation.map { creation throws(StoreError) in try transaction.name(creation.kind) } ?? ""
        self.parent = try record.parent.map { parent throws(StoreError) in try transaction.object(parent).id }
        self.childCount = Int(record.visibleChildCount)
        self.createdAt = record.creation.map { Date(milliseconds: $0.write.stamp.milliseconds) }
        self.createdBy = record.creation.flatMap { transaction.line($0.write.line).introduction?.deviceName }
        self.updatedAt = Date(milliseconds: record.updated.milliseconds)
        var properties: [String: Value] = [:]
        for (name, value) in try StateExport.properties(of: index, in: &transaction) { properties[name.text] = value }
        self.properties = properties
    }
}

extension Date {
    init(milliseconds: UInt64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
