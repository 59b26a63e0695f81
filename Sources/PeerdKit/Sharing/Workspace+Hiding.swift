internal import CRDTCore
internal import Engine
internal import Persistence

/// A property of an object that its owner hides from others who read the object.
public struct HiddenProperty: Hashable, Sendable, Codable {
    /// The name of the property.
    public let name: String
    /// The people who read it, the one who hides it first, the others by their names.
    public let people: [PersonAccess]
}

extension Workspace {
    /// Hides a property of an object from everybody else who reads the object.
    ///
    /// They keep what they were sent of it; ``erase(_:of:)`` takes that from the machines that they sync. The
    /// property shows here as before, and goes with the object wherever it is moved or shared. A property is hidden on
    /// one object; others have their own.
    ///
    /// - Parameters:
    ///   - name: the name of the property.
    ///   - object: the object, which must be yours.
    /// - Throws: ``PeerdError`` with `noSuchObject` if there is no such object or property, `notPermitted`, or as
    ///   ``write(_:)`` does.
    public func hide(_ name: String, of object: ObjectID) async throws {
        try await self.write { transaction in
            try transaction.translating { local throws(WriteRefusal) in try local.hide(name, of: object) }
        }
    }

    /// Shows a property again to all who read its object.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject`, `invalidArgument` if you do not hide it, or as ``write(_:)`` does.
    public func unhide(_ name: String, of object: ObjectID) async throws {
        try await self.write { transaction in
            try transaction.translating { local throws(WriteRefusal) in try local.unhide(name, of: object) }
        }
    }

    /// Lets a person who reads an object read a property of it that you hide, too, or also write it.
    ///
    /// - Parameters:
    ///   - name: the name of the property.
    ///   - object: the object.
    ///   - person: the name or the id of the person.
    ///   - role: what the person may do: read or write.
    /// - Throws: ``PeerdError`` with `noSuchObject`, `noSuchPerson`, `invalidArgument` if you do not hide the property,
    ///   for another role, or for a person who does not read the object, or as ``write(_:)`` does.
    public func share(
        _ name: String,
        of object: ObjectID,
        with person: String,
        as role: AccessRole = .read
    ) async throws {
        guard let given = role.role, given != .manager else {
            throw PeerdError(
                .invalidArgument,
                "A single property is read or written.",
                advice: "Give one of these roles."
            )
        }
        let step = { @Sendable (transaction: inout WriteTransaction) throws -> Bool in
            let user = try transaction.readingStore { store in try self.people(in: &store).member(person) }
            return try transaction.translating { local throws(WriteRefusal) in
                try local.share(name, of: object, with: user, as: given)
            }
        }
        if try await self.write(step) { _ = try await self.write(step) }
    }

    /// Takes from a person what he may do with a property that you hide.
    ///
    /// - Throws: ``PeerdError`` with `noSuchObject`, `noSuchPerson`, `invalidArgument` if you do not hide the property,
    ///   or as ``write(_:)`` does.
    public func unshare(_ name: String, of object: ObjectID, with person: String) async throws {
        try await self.write { transaction in
            let user = try transaction.readingStore { store in try self.people(in: &store).user(person) }
            try transaction.translating { local throws(WriteRefusal) in
                try local.unshare(name, of: object, with: user)
            }
        }
    }
}
