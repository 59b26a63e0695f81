import DecoderExercises
import Glibc

// What libFuzzer calls. FUZZ_TARGET names the exercise; with FUZZ_SEEDS the seeds of all of them are written there.

private let exercise: DecoderExercise? = {
    guard let name = getenv("FUZZ_TARGET").map({ String(cString: $0) }) else { return nil }
    return DecoderExercise.all.first { $0.name == name }
}()

@_cdecl("LLVMFuzzerInitialize")
func initialize(_ argumentCount: UnsafeMutableRawPointer, _ arguments: UnsafeMutableRawPointer) -> CInt {
    if let directory = getenv("FUZZ_SEEDS").map({ String(cString: $0) }) {
        writeSeeds(to: directory)
        exit(0)
    }
    guard exercise != nil else {
        print("Set FUZZ_TARGET to one of: \(DecoderExercise.all.map(\.name).joined(separator: " "))")
        exit(2)
    }
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    if let complaint = exercise?.complaint(input) { fatalError("\(complaint)") }
    return 0
}

private func writeSeeds(to directory: String) {
    _ = mkdir(directory, 0o755)
    for exercise in DecoderExercise.all {
        _ = mkdir("\(directory)/\(exercise.name)", 0o755)
        for (number, seed) in exercise.seeds().enumerated() {
            guard let file = fopen("\(directory)/\(exercise.name)/seed-\(number)", "w") else { exit(1) }
            guard fwrite(seed, 1, seed.count, file) == seed.count, fclose(file) == 0 else { exit(1) }
        }
    }
}
