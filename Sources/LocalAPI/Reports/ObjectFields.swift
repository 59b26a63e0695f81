internal import CRDTCore
internal import PeerdKit

/// What a client wants of each object of a list.
enum ObjectFields: String {
    case all
    /// What `peerd ls` says.
    case summary

    init(_ parameters: QueryParameters) throws(Problem) {
        guard let text = try parameters.one("fields") else {
            self = .all
            return
        }
        guard let fields = ObjectFields(rawValue: text) else {
            throw .badRequest("The parameter fields is “summary” or “all”.")
        }
        self = fields
    }

    /// Reads an object of the store.
    func json(of index: ObjectIndex, in transaction: inout some StateReading) throws(StoreError) -> JSON {
        switch self {
        case .summary: JSON(try ObjectSummary(of: index, in: &transaction))
        case .all: self.json(of: try Object(index, in: &transaction))
        }
    }

    /// The same of an object that was read before.
    func json(of object: Object) -> JSON {
        switch self {
        case .summary: JSON(ObjectSummary(object))
        case .all: JSON(ObjectAnswer(object))
        }
    }

    func append(_ object: Object, to bytes: inout [UInt8]) {
        switch self {
        case .summary: JSON(ObjectSummary(object)).append(to: &bytes)
        case .all: object.append(to: &bytes)
        }
    }
}
