//! Generates messages and stubs from the .proto files, without protoc: protox reads them.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = "../../proto";
    println!("cargo:rerun-if-changed={protos}");
    let files = protox::compile(["replayd/v1/service.proto"], [protos])?;
    tonic_prost_build::configure()
        .build_server(false)
        .include_file("proto.rs") // one module tree, as the packages refer to each other
        .compile_fds(files)?;
    Ok(())
}
