/// The live state as canonical JSON: equal bytes on peers that have applied the same effective operations.
package enum StateExport {
    /// An array of the visible objects in ascending order of ids, one a line.
    ///
    /// `root`: only this object and what is visible below it; nil for everything.
    /// - Complexity: O(*n* log *n*) in the objects and properties.
    package static func json(
        under root: ObjectIndex? = nil,
        of transaction: inout some StateReading
    ) throws(StoreError) -> [UInt8] {
        let objects: [ObjectIndex]
        if let root {
            var identified: [(id: ObjectID, object: ObjectIndex)] = []
            for object in try self.subtree(root, in: &transaction) {
                identified.append((try transaction.object(object).id, object))
            }
            objects = identified.sorted { $0.id < $1.id }.map(\.object)
        } else {
            objects = try transaction.visibleObjects()
        }
        var bytes = Array("[".utf8)
        for (position, object) in objects.enumerated() {
            bytes.append(contentsOf: (position == 0 ? "\n" : ",\n").utf8)
            try self.json(of: object, in: &transaction).append(to: &bytes)
        }
        bytes.append(contentsOf: (objects.isEmpty ? "]\n" : "\n]\n").utf8)
        return bytes
    }

    /// One object with its properties, as a JSON object.
    ///
    /// `missing` names the properties whose values are not here; it is there only if there are any.
    package static func json(
        of object: ObjectIndex,
        in transaction: inout some StateReading
    ) throws(StoreError) -> JSON {
        let record = try transaction.object(object)
        var members: [ExactText: JSON] = [
            "id": .string(record.id.description),
            "parent": .null,
            "position": .string(self.text(of: record.position)),
            "updated_at": .int(Int64(clamping: try transaction.lastUpdate(of: object).milliseconds)),
            "type": .null, "kind": .null, "created_at": .null, "creator": .null, "owner": .null,
        ]
        if let parent = record.parent {
            members["parent"] = .string(try transaction.object(parent).id.description)
        }
        if let creation = record.creation {
            members["type"] = .string(try transaction.name(creation.type))
            members["kind"] = .string(try transaction.name(creation.kind))
            members["created_at"] = .int(Int64(clamping: creation.write.stamp.milliseconds))
            if let user = transaction.segment(creation.write.segment).introduction?.user {
                members["creator"] = .string(user.description)
                members["owner"] = .string(user.description)
            }
        }
        members["properties"] = .object(try self.properties(of: object, in: &transaction).mapValues(\.json))
        let missing = try transaction.missingProperties(of: object)
        if !missing.isEmpty { members["missing"] = .array(missing.map { .string($0) }) }
        return .object(members)
    }

    /// The properties in force of an object, by name.
    package static func properties(
        of object: ObjectIndex,
        in transaction: inout some StateReading
    ) throws(StoreError) -> [ExactText: Value] {
        var properties: [ExactText: Value] = [:]
        for property in try transaction.properties(of: object) { properties[ExactText(property.name)] = property.value }
        return properties
    }

    /// An object and everything visible below it, parents before children.
    package static func subtree(
        _ root: ObjectIndex,
        in transaction: inout some StateReading
    ) throws(StoreError) -> [ObjectIndex] {
        var found: [ObjectIndex] = []
        var open = [root]
        while let object = open.popLast() {
            guard object != root || found.isEmpty else {
                throw .damaged("the hierarchy in the database goes round in a circle")
            }
            guard try transaction.object(object).isVisible else { continue }
            found.append(object)
            open.append(contentsOf: try transaction.children(of: object).reversed())
        }
        return found
    }

    /// Positions are ASCII in practice; any other bytes are shown in hexadecimal.
    package static func text(of position: Position) -> String {
        position.bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f }
            ? String(decoding: position.bytes, as: UTF8.self) : "0x" + Hexadecimal.text(position.bytes)
    }
}
