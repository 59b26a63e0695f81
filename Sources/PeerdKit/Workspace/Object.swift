package import CRDTCore
public import Foundation
package import Persistence

/// An object with its properties and its place in the tree, as it was at one moment.
public struct Object: Identifiable, Hashable, Sendable, Codable {
    /// The id, which is the same on all machines.
    public let id: ObjectID
    /// The type that it was created with, such as `"list"`; empty if its creation is not here yet.
    public let type: String
    /// The kind within its type; empty if it was created without one.
    public let kind: String
    /// The parent; nil at the root.
    public let parent: ObjectID?
    /// The number of its direct children.
    public let childCount: Int
    /// The time of its creation, by the clock of the machine that made it; nil if its creation is not here yet.
    public let createdAt: Date?
    /// The name of the machine that made it; nil if its creation is not here yet.
    public let createdBy: String?
    /// The time of the last write to it, its place included.
    public let updatedAt: Date
    /// The values of all its properties, by name.
    public let properties: [String: Value]

    /// Returns the value of a property; nil if the object has no such property.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value has another type.
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
