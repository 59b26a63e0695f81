package import CRDTCore
public import Foundation

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
    /// The place among its siblings, as text: siblings are sorted by its UTF-8 bytes, then by their ids.
    public let position: String
    /// The number of its direct children.
    public let childCount: Int
    /// The time of its creation, by the clock of the machine that made it; nil if its creation is not here yet.
    public let createdAt: Date?
    /// The name of the machine that made it; nil if its creation is not here yet.
    public let createdBy: String?
    /// The id of the user who made it; nil if its creation is not here yet.
    public let creator: String?
    /// The time of the last write to it, its place included.
    public let updatedAt: Date
    /// The values of all its properties, by name.
    public let properties: Properties
    /// The names of properties whose values have not come to this machine, in ascending order.
    ///
    /// They are in no other member. It asks its peers for them. Whoever writes an object back must leave them alone.
    public let missingProperties: [String]

    /// Returns the value of a property; nil if the object has no such property.
    ///
    /// - Throws: ``PeerdError`` with `wrongType` if the value has another type.
    public subscript<Content>(_ property: Property<Content>) -> Content? {
        get throws { try self.properties[property.name].map { try property.content(of: $0) } }
    }
}

extension Object {
    static func find(_ id: ObjectID, in transaction: inout some StateReading) throws(StoreError) -> Object? {
        guard let index = try transaction.visibleObject(id) else { return nil }
        return try Object(index, in: &transaction)
    }

    package init(_ index: ObjectIndex, in transaction: inout some StateReading) throws(StoreError) {
        let record = try transaction.object(index)
        self.id = record.id
        if let creation = record.creation {
            let introduction = transaction.segment(creation.write.segment).introduction
            self.type = try transaction.name(creation.type)
            self.kind = try transaction.name(creation.kind)
            self.createdAt = Date(milliseconds: creation.write.stamp.milliseconds)
            self.createdBy = introduction?.deviceName
            self.creator = introduction?.user.description
        } else {
            (self.type, self.kind) = ("", "")
            (self.createdAt, self.createdBy, self.creator) = (nil, nil, nil)
        }
        if let parent = record.parent { self.parent = try transaction.object(parent).id } else { self.parent = nil }
        self.position = StateExport.text(of: record.position)
        self.childCount = try transaction.visibleChildCount(of: index)
        self.updatedAt = Date(milliseconds: try transaction.lastUpdate(of: index).milliseconds)
        self.properties = Properties(try StateExport.properties(of: index, in: &transaction))
        self.missingProperties = try transaction.missingProperties(of: index)
    }
}

extension StateReading {
    /// The number of an object that exists; nil if there is none, or it is deleted.
    mutating func visibleObject(_ id: ObjectID) throws(StoreError) -> ObjectIndex? {
        guard let index = try self.existingObjectIndex(of: id), try self.object(index).isVisible else { return nil }
        return index
    }
}

extension Date {
    package init(milliseconds: UInt64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// The last millisecond of the year 9999: what comes from outside and lies later is refused.
    static let millisecondsMax: UInt64 = 253_402_300_799_999

    /// The milliseconds since 1970, rounded; the nearest number there is for a time that no number can hold.
    package var millisecondsSince1970: Int64 {
        let milliseconds = (self.timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : milliseconds < 0 ? .min : 0)
    }
}
