import CRDTCore

@testable import LocalAPI

extension JSON {
    /// A member of an object.
    subscript(_ name: String) -> JSON? {
        if case .object(let members) = self { members[ExactText(name)] } else { nil }
    }

    /// The elements of an array.
    var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }

    /// The members of an object by their names.
    var members: [String: JSON] {
        guard case .object(let members) = self else { return [:] }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.key.text, $0.value) })
    }
}

/// A document of the API, whose schemas types are held against.
final class SchemaDocument {
    let root: JSON
    /// The schemas of objects that some type has matched.
    private(set) var matched: Set<String> = []

    init(_ root: JSON) { self.root = root }

    /// One of the forms that a schema allows.
    private enum Form {
        case null, any
        case kind(String)
        case words(Set<String>)
        case list(JSON, String)
        case map(JSON, String)
        case object(Object)

        var isNull: Bool { if case .null = self { true } else { false } }
        var members: Object? { if case .object(let object) = self { object } else { nil } }
    }

    private struct Object {
        /// Where the schemas are that describe it together.
        var places: Set<String> = []
        var required: Set<String> = []
        var properties: [String: (schema: JSON, place: String)] = [:]
    }

    // MARK: - Reading schemas

    private func forms(_ schema: JSON, _ place: String) -> [Form] {
        if let reference = schema["$ref"]?.text {
            let target = reference.split(separator: "/").dropFirst().reduce(self.root) { $0[String($1)] ?? .null }
            return self.forms(target, reference)
        }
        for name in ["oneOf", "anyOf"] {
            guard let alternatives = schema[name]?.elements else { continue }
            return alternatives.enumerated().flatMap { self.forms($1, "\(place)/\(name)/\($0)") }
        }
        if let parts = schema["allOf"]?.elements {
            var all = [Object()]
            for (position, part) in parts.enumerated() {
                let objects = self.forms(part, "\(place)/allOf/\(position)").compactMap(\.members)
                all = all.flatMap { first in objects.map { Self.joined(first, $0) } }
            }
            return all.map { .object($0) }
        }
        if let words = schema["enum"]?.elements {
            let texts = Set(words.compactMap(\.text))
            return [.words(texts)] + (words.contains(.null) ? [.null] : [])
        }
        if let constant = schema["const"] { return [.kind(constant.text == nil ? "boolean" : "string")] }
        let types = schema["type"].map { $0.text.map { [$0] } ?? $0.elements.compactMap(\.text) } ?? []
        return types.isEmpty ? [.any] : types.map { self.form($0, schema, place) }
    }

    private func form(_ type: String, _ schema: JSON, _ place: String) -> Form {
        switch type {
        case "null": return .null
        case "array": return .list(schema["items"] ?? .null, "\(place)/items")
        case "object":
            let properties = schema["properties"]?.members ?? [:]
            if properties.isEmpty, let values = schema["additionalProperties"] {
                return .map(values, "\(place)/additionalProperties")
            }
            var object = Object(places: [place])
            object.required = Set(schema["required"]?.elements.compactMap(\.text) ?? [])
            for (name, schema) in properties { object.properties[name] = (schema, "\(place)/properties/\(name)") }
            return .object(object)
        default: return .kind(type)
        }
    }

    private static func joined(_ first: Object, _ second: Object) -> Object {
        var object = first
        object.places.formUnion(second.places)
        object.required.formUnion(second.required)
        object.properties.merge(second.properties) { $1 }
        return object
    }

    /// The schemas of objects within a schema, itself included.
    func objects(in schema: JSON, _ place: String) -> Set<String> {
        var found: Set<String> = []
        var open = [(schema, place)]
        while let (schema, place) = open.popLast() {
            for form in self.forms(schema, place) {
                switch form {
                case .list(let content, let place), .map(let content, let place): open.append((content, place))
                case .object(let object):
                    let isNew = !object.places.isSubset(of: found)
                    found.formUnion(object.places)
                    if isNew { open += object.properties.values.map { ($0.schema, $0.place) } }
                case .null, .any, .kind, .words: break
                }
            }
        }
        return found
    }

    // MARK: - Comparing

    /// Where a type differs from a schema.
    func differences(_ shape: AnswerShape, _ schema: JSON, _ place: String, isNullable: Bool = false) -> [String] {
        let forms = self.forms(schema, place)
        let others = forms.filter { !$0.isNull }
        if case .any = shape {
            // A value of a property, or an object of some; or, where null is no lack of a value, null or a text.
            let isAny = others.allSatisfy { if case .any = $0 { true } else if case .map = $0 { true } else { false } }
            return isAny || others.count < forms.count ? [] : ["\(place): the schema is of one kind, and the type any"]
        }
        if others.count < forms.count, !isNullable { return ["\(place): null in the schema alone"] }
        if others.count == forms.count, isNullable { return ["\(place): null in the type alone"] }
        if case .object(let members) = shape { return self.differences(members, others.compactMap(\.members), place) }
        guard others.count == 1, let form = others.first else { return ["\(place): more forms than the type has"] }
        switch (shape, form) {
        case (.text, .kind("string")), (.flag, .kind("boolean")), (.integer, .kind("integer")),
            (.number, .kind("number")):
            return []
        case (.words(let mine), .words(let theirs)):
            return mine == theirs ? [] : ["\(place): the words are \(mine.sorted()) and \(theirs.sorted())"]
        case (.list(let content), .list(let schema, let place)), (.map(let content), .map(let schema, let place)):
            return self.differences(content, schema, place)
        default: return ["\(place): \(form) in the schema, and \(shape) in the type"]
        }
    }

    /// The type is one of the objects, or has the members of all of them, of which an answer has some.
    private func differences(_ members: AnswerMembers, _ objects: [Object], _ place: String) -> [String] {
        for object in objects {
            let known = self.matched
            if self.differences(members, object, place).isEmpty { return [] }
            self.matched = known
        }
        guard var all = objects.first else { return ["\(place): no object in the schema"] }
        for object in objects.dropFirst() {
            let required = all.required.intersection(object.required)
            all = Self.joined(all, object)
            all.required = required
        }
        return self.differences(members, all, place)
    }

    private func differences(_ members: AnswerMembers, _ object: Object, _ place: String) -> [String] {
        self.matched.formUnion(object.places)
        let (mine, theirs) = (Set(members.all.keys), Set(object.properties.keys))
        var found = mine.subtracting(theirs).map { "\(place): “\($0)” is in the type alone" }
        found += theirs.subtracting(mine).map { "\(place): “\($0)” is in the schema alone" }
        found += object.required.subtracting(theirs).map { "\(place): “\($0)” is required and not described" }
        for (name, member) in members.all {
            guard let (schema, place) = object.properties[name] else { continue }
            if member.isOmissible == object.required.contains(name) {
                found.append("\(place): one of the two may be missing, in the type or in the schema")
            }
            // What may be missing is not null besides, unless the schema says so.
            let allowsNull = member.isOmissible && self.forms(schema, place).contains { $0.isNull }
            found += self.differences(member.shape, schema, place, isNullable: member.isNullable || allowsNull)
        }
        return found.sorted()
    }
}
